import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../harness/certificates.js'
import { freePort } from '../../../harness/free-port.js'
import { ROOT } from '../../support/compile-package.js'
import { compiledCli } from '../../support/compiled-cli.js'
import { launch, type RunningProgram } from '../../support/running-program.js'
import { PROGRAM_TIMEOUT_MS } from './support/program-timeout.js'

const UNIT = join(ROOT, 'deploy/rx-statestore.service')
const SETTINGS = join(ROOT, 'deploy/store.yaml')
const VERIFIER = '/usr/bin/systemd-analyze'
const POLICY = `
- principals: { usernames: [panel] }
  brokerResources: [{ method: Connect }]
  stateStoreResources: [{ method: ReadWrite, keyType: Pattern, keys: ["*"] }]`

/** Returns the lines of a key of the unit, with continuation lines joined. */
const linesOf = (unit: string, key: string): string[] =>
  Array.from(unit.replaceAll('\\\n', ' ').matchAll(new RegExp(`^${key}=(.*)$`, 'gm')), ([, line = '']) => line)

describe('The service unit', { timeout: PROGRAM_TIMEOUT_MS }, () => {
  const compiled = compiledCli()
  const run = ([command = '', ...args]: readonly string[], env: NodeJS.ProcessEnv = {}): RunningProgram =>
    launch(command, args, { env: { PATH: process.env['PATH'], ...env }, stdio: 'pipe' })
  const cli = (...args: readonly string[]) => [process.execPath, compiled.main, ...args]

  it.runIf(existsSync(VERIFIER))('systemd accepts the unit (needs systemd-analyze)', async () => {
    const unit = await readFile(UNIT, 'utf8')
    // The files that systemd verifies must exist.
    const verify = async (text: string): Promise<string> => {
      await writeFile(join(compiled.folder, 'here.service'), text.replace('/usr/bin/node', process.execPath))
      return spawnSync(VERIFIER, ['verify', join(compiled.folder, 'here.service')], { encoding: 'utf8' }).stderr
    }
    expect(await verify(unit)).toBe('')
    expect(await verify(unit.replace('Restart=', 'Restarts='))).toContain('Restarts')
  })

  it.runIf(existsSync(VERIFIER))('the unit has a low exposure (needs systemd-analyze)', () => {
    // The threshold is ten times the exposure level.
    const { status, stdout } = spawnSync(
      VERIFIER,
      ['security', '--offline=true', '--threshold=15', '--no-pager', UNIT],
      {
        encoding: 'utf8',
      },
    )
    expect({ status, stdout }).toMatchObject({ status: 0, stdout: expect.stringContaining('exposure level') })
  })

  it('the commands of the unit start, reload, save and stop the store', async () => {
    const unit = await readFile(UNIT, 'utf8')
    const [etc, data, log] = ['etc', 'data', 'log'].map(name => join(compiled.folder, name))
    for (const place of [etc, data, log]) if (place) await mkdir(place)
    const authority = new Authority('/CN=Plant')
    const { cert, key } = authority.issue('/CN=store')
    await writeFile(join(etc ?? '', 'cert.pem'), cert)
    await writeFile(join(etc ?? '', 'key.pem'), key)
    await writeFile(join(etc ?? '', 'policy.yaml'), POLICY)
    const passwd = run(cli('passwd', join(etc ?? '', 'users'), 'panel'))
    passwd.child.stdin?.end('secret\n')
    expect(await passwd.exit).toEqual([0, null])
    const ports = await Promise.all([freePort(), freePort(), freePort(), freePort()])
    const local = (content: string): string =>
      ['8883', '8884', '8080', '9464'].reduce(
        (text, port, at) => text.replaceAll(port, String(ports[at])),
        content
          .replace('/usr/bin/node', process.execPath)
          .replace('/opt/rx-statestore/node_modules/rx-statestore', compiled.folder)
          .replaceAll('/etc/rx-statestore', etc ?? '')
          .replaceAll('/var/lib/rx-statestore', data ?? '')
          .replaceAll('/var/log/rx-statestore', log ?? ''),
      )
    const here = local(unit)
    await writeFile(join(etc ?? '', 'store.yaml'), local(await readFile(SETTINGS, 'utf8')))
    await writeFile(join(etc ?? '', 'metrics-token'), '1'.repeat(32))
    const [start = ''] = linesOf(here, 'ExecStart')
    const [reload = ''] = linesOf(here, 'ExecReload')
    const output: string[] = []
    const store = run(start.trim().split(/\s+/), { JOURNAL_STREAM: '9:1234' })
    store.lines$.subscribe(line => output.push(line))
    await store.line(/^listening on /)
    const { pid } = store.child

    const url = ['--url', `mqtts://127.0.0.1:${ports[0]}`, '--ca', authority.file]
    const panel = [...url, '--username', 'panel', '--password', 'secret']
    expect(await run(cli('set', 'k', 'v', ...panel)).exit).toEqual([0, null])
    await run(['/bin/sh', '-c', `MAINPID=${pid}; ${reload}`]).exit
    await store.line(/^reloaded .*users$/)
    await store.line(/^reloaded .*policy.yaml$/)
    expect(await run(cli('get', 'k', ...panel)).exit).toEqual([0, null])

    await writeFile(join(etc ?? '', 'metrics-token'), '2'.repeat(32))
    await run(['/bin/sh', '-c', `MAINPID=${pid}; ${reload}`]).exit
    await store.line(/^reloaded .*metrics-token$/)
    await store.line(new RegExp(`^metrics on https://127.0.0.1:${ports[3]}/metrics$`))

    const from = ['--console', `https://127.0.0.1:${ports[2]}`, '--ca', authority.file]
    const token = ['--console-token-file', join(data ?? '', 'console-token')]
    const dump = run(cli('dump', ...from, ...token))
    expect(await dump.line(/"key":"k"/)).toContain('"value":"v"')
    expect(await dump.exit).toEqual([0, null])

    // This stops the service as systemd does without an ExecStop.
    expect(linesOf(here, 'ExecStop')).toEqual([])
    expect(await store.end('SIGTERM')).toEqual([0, null])
    await store.line(/^stopped$/)
    const journal = output.join('\n')
    expect(journal).toContain(`(token in ${join(data ?? '', 'console-token')})`)
    expect(journal).not.toContain((await readFile(join(data ?? '', 'console-token'), 'utf8')).trim())
    expect(await readFile(join(log ?? '', 'audit.jsonl'), 'utf8')).toContain('panel')
  })

  it.each([
    ['serve without files', ['serve', '--port', '0', '--ws-port', '0'], /^listening on /],
    ['attach', ['attach', 'mqtt://127.0.0.1:1'], /still trying|cannot reach/],
  ])('%s continues to run after SIGHUP', async (_, args, words) => {
    const store = run(cli(...args))
    await store.line(words)
    for (let times = 0; times < 3; times++) {
      store.child.kill('SIGHUP')
      // The signal has been delivered once a process that was started later has ended.
      await run([process.execPath, '-e', '']).exit
    }
    expect(store.isRunning).toBe(true)
    await store.end('SIGTERM')
    await store.line(/^stopped$/)
  })
})
