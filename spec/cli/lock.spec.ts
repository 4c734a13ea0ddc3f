import { describe, expect, it } from 'vitest'
import { text } from '../../src/client/index.js'
import { eventually } from '../support/eventually.js'
import { ManualClock } from '../support/manual-clock.js'
import { FOREVER, lockOf, node, openOther, pidOf, runs, STUBBORN } from './locked-command.js'
import { execute, jsonOf, NOW, openStore, start, VERSION } from './test-io.js'

describe('lock', () => {
  it('runs a command while it holds the lock, and then releases the lock', async () => {
    const store = await openStore()
    const { url } = store
    const running = start(['lock', 'l', '--holder', 'me', '--url', url, ...node(STUBBORN)])
    const pid = await pidOf(running)
    expect(await lockOf(url)).toMatchObject({ op: 'set', value: 'me' })
    process.kill(pid, 'SIGKILL')
    expect(await running.exit).toBe(137)
    expect(await lockOf(url)).toMatchObject({ op: 'absent' })
    expect(running.stderr.text).toBe('')
    expect(store.stats.watches).toBe(0)
  })

  it('passes the name and the fencing token of the lock to the command', async () => {
    const { url } = await openStore()
    const script = 'const e = process.env; console.log(e.RX_STATESTORE_LOCK, e.RX_STATESTORE_FENCING_TOKEN, e.OTHER)'
    const args = ['lock', 'l\\1', '--url', url, ...node(`${script}; ${FOREVER}`)]
    const running = start(args, { env: { OTHER: 'too' } })
    const [name, token, other] = (await running.stdout.line(/^l/)).split(' ')
    expect([name, token, other]).toEqual(['l\\1', expect.stringMatching(VERSION), 'too'])
    expect(token).toBe(String((await lockOf(url, 'l\\1')).version))
    running.interrupt()
    expect(await running.exit).toBe(130)
  })

  it.each([
    ['0', 'process.exit(0)', 0],
    ['its own', 'process.exit(37)', 37],
    ['128+n for a signal', 'process.kill(process.pid, "SIGKILL")', 137],
  ])('exits with the exit code of the command: %s', async (_, script, code) => {
    const { url } = await openStore()
    expect(await execute(['lock', 'l', '--url', url, ...node(script)])).toEqual(
      expect.objectContaining({ code, stdout: '', stderr: '' }),
    )
    expect(await lockOf(url)).toMatchObject({ op: 'absent' })
  })

  it.each([
    ['127 when the command does not exist', './no-such-command', 127, 'command not found: ./no-such-command'],
    ['126 when the command cannot be executed', import.meta.dirname, 126, `cannot run ${import.meta.dirname}: spawn `],
  ])('exits with code %s, and releases the lock', async (_, command, code, words) => {
    const { url } = await openStore()
    const outcome = await execute(['lock', 'l', '--url', url, '--', command])
    expect(outcome.code).toBe(code)
    expect(outcome.stderr).toContain(`rx-statestore: ${words}`)
    expect(await lockOf(url)).toMatchObject({ op: 'absent' })
  })

  it('passes flags after -- to the command', async () => {
    const { url } = await openStore()
    const script = 'console.log(JSON.stringify(process.argv.slice(1)))'
    const words = ['--json', '-C', '--', '--url', 'x', '']
    const { code, stdout } = await execute(['lock', '--url', url, 'l', ...node(script), '--', ...words])
    expect({ code, args: jsonOf(stdout) }).toEqual({ code: 0, args: words })
  })

  it('renews the lock while the command runs', async () => {
    const { url } = await openStore()
    const running = start(['lock', 'l', '--duration', '60000', '--renew-every', '20', '--url', url, ...node(FOREVER)])
    await pidOf(running)
    const versions = new Set<string>()
    const watch = openOther(url)
      .key('l', text)
      .entries$.subscribe(entry => versions.add(String(entry.version)))
    await eventually(() => versions.size > 3)
    watch.unsubscribe()
    running.interrupt()
    expect(await running.exit).toBe(130)
  })

  it('forwards signals to the command, and holds the lock until the command has ended', async () => {
    const { url } = await openStore()
    const running = start(['lock', 'l', '--url', url, ...node(STUBBORN)])
    const pid = await pidOf(running)
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      running.interrupt(signal)
      await running.stdout.line(new RegExp(`^got ${signal}$`))
    }
    expect(await lockOf(url)).toMatchObject({ op: 'set' })
    process.kill(pid, 'SIGKILL')
    expect(await running.exit).toBe(137)
    expect(running.stdout.lines.filter(line => line.startsWith('got'))).toHaveLength(2)
  })

  it.each([
    ['a key that is not a lock', ['set', 'l', '', '--hex'], 'is empty'],
    ['a key with a fencing token', ['set', 'l', 'x', '--ft', '1:0:x'], 'is protected by a fencing token'],
  ])('exits with code 1 for %s', async (_, args, words) => {
    const { url } = await openStore()
    expect(await execute([...args, '--url', url])).toMatchObject({ code: 0 })
    const { code, stderr } = await execute(['lock', 'l', '--url', url, ...node(FOREVER)])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^rx-statestore: The key "l" cannot be used as a lock: [^\n]+\n$/)
    expect(stderr).toContain(words)
  })

  it.each([
    ['no command', ['lock', 'l'], /missing required argument 'command'/],
    ['no command after --', ['lock', 'l', '--'], /missing required argument 'command'/],
    ['no --', ['lock', 'l', 'make'], /put -- between/],
    ['a -- within the command', ['lock', 'l', 'npm', 'run', '--', 'x'], /put -- between/],
    ['an empty name', ['lock', '', ...node('')], /Expected/],
    ['an empty holder', ['lock', 'l', '--holder', '', ...node('')], /Expected `holder`/],
    ['a --renew-every that is too long', ['lock', 'l', '--renew-every', '10000', ...node('')], /Expected `renewEvery`/],
    ['a --duration of zero', ['lock', 'l', '--duration', '0', ...node('')], /Expected a time, such as 500ms, 10s/],
  ])('exits with code 2 for %s', async (_, args, words) => {
    const { code, stderr } = await execute(args)
    expect(code).toBe(2)
    expect(stderr).toMatch(words)
    expect(stderr).toMatch(/^rx-statestore: [^\n]+; see rx-statestore lock --help\n$/)
  })
})

describe('`lock` beside another holder', () => {
  it('waits, reports the holder, and acquires the lock next', async () => {
    const { url } = await openStore()
    const first = start(['lock', 'l', '--holder', 'first', '--url', url, ...node(FOREVER)])
    const pid = await pidOf(first)
    const second = start(['lock', 'l', '--holder', 'second', '--url', url, ...node(FOREVER)])
    expect(await second.stderr.line(/./)).toBe('12:15:16.017  waiting for first')
    expect(second.stdout.text).toBe('')
    first.interrupt()
    expect(await first.exit).toBe(130)
    expect(await pidOf(second)).not.toBe(pid)
    expect(runs(pid)).toBe(false)
    expect(await second.stderr.line(/./)).toBe('12:15:16.017  acquired the lock l')
    expect(await lockOf(url)).toMatchObject({ value: 'second' })
  })

  it('exits with code 3 with --no-wait, and does not run the command', async () => {
    const { url } = await openStore()
    await execute(['set', 'l', 'first', '--url', url])
    expect(await execute(['lock', 'l', '--no-wait', '--url', url, ...node('console.log(1)')])).toMatchObject({
      code: 3,
      stdout: '',
      stderr: 'rx-statestore: the lock l is held by first\n',
    })
    expect(await lockOf(url)).toMatchObject({ value: 'first' })
  })

  it('exits with code 3 after --wait-timeout', async () => {
    const { url } = await openStore()
    await execute(['set', 'l', 'first', '--url', url])
    const clock = new ManualClock()
    const { exit, stdout, stderr } = start(['lock', 'l', '--wait-timeout', '60000', '--url', url, ...node('')], {
      clock,
    })
    await stderr.line(/waiting for first/)
    clock.advance(59_999)
    expect(clock.pending).toBe(1)
    clock.advance(1)
    expect(await exit).toBe(3)
    expect(stdout.text).toBe('')
    await stderr.line(/^rx-statestore: the lock l is held by first$/)
  })

  it('runs the command with --no-wait when the lock is free', async () => {
    const { url } = await openStore()
    expect(await execute(['lock', 'l', '--no-wait', '--url', url, ...node('')])).toMatchObject({ code: 0, stderr: '' })
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('ends at %s without running the command', async (signal, code) => {
    const { url } = await openStore()
    await execute(['set', 'l', 'first', '--url', url])
    const { stdout, stderr, exit, interrupt } = start(['lock', 'l', '--url', url, ...node(FOREVER)])
    await stderr.line(/waiting for first/)
    interrupt('SIGTSTP')
    interrupt(signal)
    expect(await exit).toBe(code)
    expect(stdout.text).toBe('')
    expect(await lockOf(url)).toMatchObject({ value: 'first' })
  })

  it('prints an object per state with --json', async () => {
    const { url } = await openStore()
    await execute(['set', 'l', 'first', '--url', url])
    const args = ['lock', 'l', '--holder', 'me', '--renew-every', '20', '--json', '--url', url, ...node(FOREVER)]
    const { stderr, stdout, exit } = start(args)
    const common = { time: new Date(NOW).toISOString(), lock: 'l' }
    expect(jsonOf(await stderr.line(/./))).toEqual({ ...common, status: 'waiting', holder: 'first' })
    await execute(['del', 'l', '--url', url])
    const held = { ...common, status: 'held', holder: 'me', token: expect.stringMatching(VERSION) }
    expect(jsonOf(await stderr.line(/./))).toEqual(held)
    await stdout.line(/^runs/)
    await execute(['del', 'l', '--url', url])
    expect(jsonOf(await stderr.line(/./))).toEqual({ ...common, status: 'lost', reason: 'revoked' })
    expect(await exit).toBe(4)
    expect(stderr.lines).toHaveLength(3)
  })
})
