import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { firstValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { text } from '../../../src/client/index.js'
import { openStore } from '../../cli/test-io.js'
import { compiledCli } from '../../support/compiled-cli.js'
import { some } from '../../support/effort.js'
import { eventually } from '../../support/eventually.js'
import { openClient } from '../../support/open-client.js'

const BINARY = Uint8Array.from({ length: 100_000 }, (_, index) => index % 256)

/** A program that ends after a minute, so that a failed test leaves no process behind. */
const FOREVER = 'setTimeout(() => {}, 60_000); console.log("runs")'

/** A process with its final output. */
interface Child {
  readonly code: number | null
  readonly stdout: Buffer
  readonly stderr: string
}

/** The timeout in ms. A test starts up to seven processes, and a busy machine takes seconds for each. */
const LIMIT = 120_000

describe('the built binary', { timeout: LIMIT }, () => {
  const cli = compiledCli()

  const execute = async (args: readonly string[], stdin: Uint8Array = new Uint8Array(0)): Promise<Child> =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [cli.main, ...args], { env: { PATH: process.env['PATH'] } })
      const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []]
      child.stdout.on('data', chunk => stdout.push(chunk))
      child.stderr.on('data', chunk => stderr.push(chunk))
      child.on('error', reject)
      child.on('close', code => resolve({ code, stdout: Buffer.concat(stdout), stderr: String(Buffer.concat(stderr)) }))
      // A command that reads no input may have ended before it gets the input.
      child.stdin.on('error', () => undefined).end(stdin)
    })

  it.each(some(['SIGINT', 'SIGTERM'] as const, 1))('the binary serves until %s', async signal => {
    const store = cli.launch('serve', '--port', '0', '--ws-port', '0')
    await store.line(/^listening on mqtt:\/\/127\.0\.0\.1:\d+ and ws:/)
    expect(await store.end(signal)).toEqual([0, null])
  })

  it('Ctrl+C, a signal to all processes of a command, stops a store that npx started', async () => {
    const project = await mkdtemp(join(cli.folder, 'project-'))
    await mkdir(join(project, 'node_modules/.bin'), { recursive: true })
    await chmod(cli.main, 0o755)
    await symlink(cli.main, join(project, 'node_modules/.bin/rx-statestore'))
    await writeFile(join(project, 'package.json'), '{}')
    const child = spawn('npx', ['--no-install', 'rx-statestore', 'serve', '--port', '0', '--ws-port', '0'], {
      cwd: project,
      detached: true,
      env: { PATH: process.env['PATH'], HOME: project, npm_config_update_notifier: 'false' },
    })
    const { pid = 0 } = child
    // The group is empty when the test has passed.
    onTestFinished(() => void (child.exitCode === null && child.signalCode === null && process.kill(-pid, 'SIGKILL')))
    const messages: string[] = []
    createInterface({ input: child.stderr }).on('line', line => messages.push(line))
    const [line] = await once(createInterface({ input: child.stdout }), 'line')
    expect(line).toMatch(/^listening on mqtt:/)
    // Closes when no process of the group has its output open.
    const closed = once(child, 'close')
    process.kill(-pid, 'SIGINT')
    await closed
    expect(messages).toContain('stopped')
  })

  it.each(some(['SIGINT', 'SIGTERM'] as const, 1))(
    'the binary watches until %s, and ends its registration',
    async signal => {
      const store = await openStore()
      const watch = cli.launch('watch', 'k', '--url', store.url)
      await eventually(() => store.stats.watches === 1)
      expect(await watch.end(signal)).toEqual([0, null])
      await eventually(() => store.stats.watches === 0)
    },
  )

  it('the binary ends a watch quietly when the reader of its output has exited', async () => {
    const { url } = await openStore()
    const watch = cli.launch('watch', 'k', '--url', url)
    const messages: string[] = []
    const { stdout, stderr } = watch.child
    if (stderr) createInterface({ input: stderr }).on('line', line => messages.push(line))
    await watch.line(/watching the key/)
    stdout?.destroy()
    // A process notices only on a write that its reader has exited, and the first write may still succeed.
    const key = openClient(url).key('k', text)
    for (let count = 0; watch.isRunning; count++) await firstValueFrom(key.set(String(count)))
    expect(await watch.exit).toEqual([0, null])
    expect(messages.filter(line => !/ (connected to|watching) /.test(line))).toEqual([])
  })

  it('the binary passes binary values through pipes', async () => {
    const { url } = await openStore()
    expect(await execute(['set', 'k', '--file', '-', '--url', url], BINARY)).toMatchObject({ code: 0, stderr: '' })
    const { code, stdout } = await execute(['get', 'k', '--url', url])
    expect(code).toBe(0)
    expect(stdout.equals(BINARY)).toBe(true)
  })

  it('the binary serves a console, through which keys are dumped and loaded', async () => {
    const store = cli.launch('serve', '--port', '0', '--ws-port', '0', '--console', '0')
    const [url = ''] = /mqtt:\S+/.exec(await store.line(/^listening on /)) ?? []
    const [link = ''] = /http:\S+/.exec(await store.line(/^console on /)) ?? []
    await execute(['set', 'k', '--file', '-', '--url', url, '--px', '100000'], BINARY)
    const { code, stdout: dump } = await execute(['dump', '--console', link])
    expect(code).toBe(0)
    const [, line] = String(dump).split('\n')
    expect(JSON.parse(`${line}`)).toMatchObject({
      key: 'k',
      expiresAt: expect.any(Number),
      version: expect.any(String),
    })
    await execute(['del', 'k', '--url', url])
    const loaded = await execute(['load', '--console', link], dump)
    expect(loaded).toMatchObject({ code: 0, stderr: '' })
    expect((await execute(['get', 'k', '--url', url])).stdout.equals(BINARY)).toBe(true)
    expect(await store.end('SIGINT')).toEqual([0, null])
  })

  it('the binary runs a command under a lock with the same standard streams', async () => {
    const { url } = await openStore()
    const words = ['lock', 'l', '--url', url, '--', process.execPath, '-e', 'process.stdin.pipe(process.stdout)']
    const { code, stdout, stderr } = await execute(words, BINARY)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.equals(BINARY)).toBe(true)
  })

  const ENDING = [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGQUIT', 131],
  ] as const

  it.each(some(ENDING, 1))(
    'the binary forwards %s to a command under a lock, and releases the lock',
    async (signal, code) => {
      const store = await openStore()
      const lock = cli.launch('lock', 'l', '--url', store.url, '--', process.execPath, '-e', FOREVER)
      await lock.line(/^runs$/)
      expect(store.stats.keys).toBe(1)
      // SIGTSTP, which Ctrl-Z sends, must not stop the command, because a stopped process does not renew its lock.
      lock.child.kill('SIGTSTP')
      expect(await lock.end(signal)).toEqual([code, null])
      expect(store.stats.keys).toBe(0)
    },
  )

  it('the binary prints one line and exits with the code of the failure', async () => {
    const { url } = await openStore()
    expect(await execute(['--version'])).toMatchObject({ code: 0, stderr: '' })
    expect(await execute(['get', 'k', '--url', url])).toMatchObject({
      code: 3,
      stderr: 'rx-statestore: no such key: k\n',
    })
    expect(await execute(['get'])).toMatchObject({ code: 2 })
    const { code, stderr } = await execute(['get', 'k', '--url', 'mqtt://127.0.0.1:1', '--timeout', '50'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^rx-statestore: cannot reach [^\n]+\n$/)
  })

  it('probe prints its result to stdout and exits with the codes of monitoring plugins', async () => {
    const store = await openStore()
    const passed = await execute(['probe', store.url])
    expect(passed).toMatchObject({ code: 0, stderr: '' })
    expect(String(passed.stdout)).toMatch(/^OK: .* \| total=[\d.]+ms;;5000;0 connect=/)
    expect(await execute(['probe', store.url, '--warn', '1ms'])).toMatchObject({ code: 1, stderr: '' })
    await store.close()
    // The connection must be refused within the timeout, even on a busy machine.
    const failed = await execute(['probe', store.url, '--timeout', '3s'])
    expect(failed).toMatchObject({ code: 2, stderr: '' })
    expect(String(failed.stdout)).toMatch(/^CRITICAL: .*, connect: no answer within 3000 ms: /)
    expect(await execute(['probe', '--warn', 'soon'])).toMatchObject({ code: 3, stdout: Buffer.alloc(0) })
  })
})
