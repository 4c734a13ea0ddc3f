import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import { FOREVER, lockOf, node, openPort, pidOf, runs, STUBBORN, starting } from '../../cli/locked-command.js'
import { execute, openStore, start } from '../../cli/test-io.js'
import { layLink } from '../../support/link.js'
import { ManualClock } from '../../support/manual-clock.js'

describe('the lock command when its lock is lost', () => {
  it('the lock command ends its command and does not take the lock again', async () => {
    const { url } = await openStore()
    const running = start(['lock', 'l', '--url', url, ...node(FOREVER)])
    const pid = await pidOf(running)
    await execute(['del', 'l', '--url', url])
    expect(await running.exit).toBe(4)
    expect(runs(pid)).toBe(false)
    expect(running.stderr.text).toMatch(/^rx-statestore: The lease "l" is lost: its key was deleted; [^\n]+\n$/)
    expect(await lockOf(url)).toMatchObject({ op: 'absent' })
  })

  it('the lock command terminates the child processes of its command and waits for them', async () => {
    const { url } = await openStore()
    const running = start(['lock', 'l', '--url', url, ...node(starting(STUBBORN))])
    const grandchild = await pidOf(running)
    await execute(['set', 'l', 'thief', '--url', url])
    await running.stdout.line(/^got SIGTERM$/)
    process.kill(grandchild, 'SIGKILL')
    expect(await running.exit).toBe(4)
    expect(await lockOf(url)).toMatchObject({ value: 'thief' })
  })

  it('the lock command kills the remaining processes after the grace period', async () => {
    const { url } = await openStore()
    const { port, caller } = await openPort()
    const clock = new ManualClock()
    const script = starting(`require('net').connect(${port}); ${STUBBORN}`)
    const running = start(['lock', 'l', '--grace', '7000', '--url', url, ...node(script)], { clock })
    const gone = once(await caller, 'close')
    await pidOf(running)
    await execute(['del', 'l', '--url', url])
    await running.stdout.line(/^got SIGTERM$/)
    clock.advance(7_000)
    expect(await running.exit).toBe(4)
    await gone
  })

  it('the lock command ends its command when the lock cannot be renewed in time', async () => {
    const { url } = await openStore()
    const link = await layLink(url)
    // The command must renew the lock until it has started, even on a busy machine.
    const running = start(['lock', 'l', '--duration', '4000', '--url', link.url, ...node(FOREVER)])
    const pid = await pidOf(running)
    link.cut()
    expect(await running.exit).toBe(4)
    expect(runs(pid)).toBe(false)
    await running.stderr.line(/ {2}connection lost: /)
    await running.stderr.line(/^rx-statestore: The lease "l" is lost: it expired before/)
  })

  it('the lock command keeps the lock when the connection returns in time', async () => {
    const { url } = await openStore()
    const link = await layLink(url)
    const running = start(['lock', 'l', '--url', link.url, ...node(FOREVER)])
    await pidOf(running)
    link.cut()
    await running.stderr.line(/connection lost: /)
    link.restore()
    await running.stderr.line(/connected to .* again$/)
    running.interrupt('SIGTERM')
    expect(await running.exit).toBe(143)
  })

  it('the command reports that the lock will expire when it ends without a connection', async () => {
    const { url } = await openStore()
    const link = await layLink(url)
    const running = start(['lock', 'l', '--url', link.url, ...node(FOREVER)])
    await pidOf(running)
    link.cut()
    await running.stderr.line(/connection lost: /)
    running.interrupt()
    expect(await running.exit).toBe(130)
    await running.stderr.line(/cannot release the lock without a connection; it will expire$/)
    expect(await lockOf(url)).toMatchObject({ op: 'set' })
  })

  it('the lock command ends its command and reports that another client took over its id', async () => {
    const { url } = await openStore()
    const running = start(['lock', 'l', '--client-id', 'me', '--url', url, ...node(FOREVER)])
    const pid = await pidOf(running)
    await execute(['get', 'l', '--client-id', 'me', '--url', url])
    expect(await running.exit).toBe(4)
    expect(runs(pid)).toBe(false)
    await running.stderr.line(/^rx-statestore: The lease "l" is lost: .*another client took over the id/)
  })
})

describe('the lock command without a store', () => {
  it('the lock command reports that no store responds, and waits for one', async () => {
    const port = await freePort()
    const running = start(['lock', 'l', '--url', `mqtt://127.0.0.1:${port}`, ...node(FOREVER)])
    await running.stderr.line(/cannot reach mqtt:\/\/127\.0\.0\.1:\d+, still trying: .*ECONNREFUSED/)
    await openStore({ port })
    await running.stderr.line(/connected to/)
    await pidOf(running)
  })

  it('the lock command exits with code 1 and the reason with --no-wait', async () => {
    const port = await freePort()
    const args = ['lock', 'l', '--no-wait', '--timeout', '1000', '--url', `mqtt://127.0.0.1:${port}`, ...node(FOREVER)]
    const { code, stdout, stderr } = await execute(args)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(
      /\nrx-statestore: cannot acquire the lock l at [^ ]+ within 1000 ms: [^\n]*ECONNREFUSED[^\n]*\n$/,
    )
  })

  it('the lock command exits with code 1 when another client takes over its id while it waits', async () => {
    const { url } = await openStore()
    await execute(['set', 'l', 'first', '--url', url])
    const { stderr, exit } = start(['lock', 'l', '--client-id', 'me', '--url', url, ...node(FOREVER)])
    await stderr.line(/waiting for first/)
    await execute(['get', 'l', '--client-id', 'me', '--url', url])
    expect(await exit).toBe(1)
    await stderr.line(/^rx-statestore: mqtt:\/\/127.0.0.1:\d+: .*another client took over the id/)
  })
})
