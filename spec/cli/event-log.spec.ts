import { describe, expect, it } from 'vitest'
import { EventLog, type EventLogFlags } from '../../src/cli/event-log.js'
import { systemClock } from '../../src/core/util/clock.js'
import { execute, NOW, start, TestSink } from './test-io.js'

/** Opens a log whose time is under the control of the test. */
function openLog(flags: EventLogFlags, columns?: number) {
  const stderr = new TestSink(columns)
  const clock = { time: 0 }
  const log = new EventLog(flags, {
    stderr,
    env: { NO_COLOR: '1' },
    clock: { ...systemClock, now: () => NOW, monotonic: () => clock.time },
  })
  return { log, stderr, clock }
}

describe('The event log', () => {
  it('prints only messages in a pipe', () => {
    const { log, stderr } = openLog({})
    log.write('warn', 'limit', 'warning: a connection was closed')
    expect(stderr.text).toBe('warning: a connection was closed\n')
  })

  it('prints time, level and event on a terminal', () => {
    const { log, stderr } = openLog({}, 80)
    log.write('warn', 'drift', 'the clock was set back')
    expect(stderr.text).toBe(`${new Date(NOW).toISOString()} WARN  drift: the clock was set back\n`)
  })

  it('prints JSON on request', () => {
    const { log, stderr } = openLog({ logFormat: 'json' }, 80)
    log.write('error', 'storage', 'the disk is full')
    expect(JSON.parse(stderr.text)).toMatchObject({
      level: 50,
      time: NOW,
      pid: process.pid,
      event: 'storage',
      msg: 'the disk is full',
    })
  })

  it('prints no messages below the level', () => {
    const { log, stderr } = openLog({ logLevel: 'error' })
    log.write('warn', 'limit', 'a')
    log.write('error', 'fault', 'b')
    expect(stderr.lines).toEqual(['b'])
  })

  it('limits the rate of each kind of event, and reports how many were suppressed', () => {
    const { log, stderr, clock } = openLog({})
    for (let n = 0; n < 50; n++) log.write('error', 'fault', `fault ${n}`)
    log.write('error', 'storage', 'full')
    expect(stderr.lines).toHaveLength(21)
    clock.time = 10_000
    log.write('error', 'fault', 'later')
    expect(stderr.lines.slice(-3)).toEqual(['full', '30 more messages of this kind were not printed', 'later'])
  })

  it('prints no user names and passwords of URLs', () => {
    const { log, stderr } = openLog({})
    log.write('error', 'storage', 'cannot reach nats://me:secret@a:4222')
    expect(stderr.text).toBe('cannot reach nats://***@a:4222\n')
  })

  it('serve reports its listeners and its end as JSON', async () => {
    const args = ['serve', '--port', '0', '--ws-port', '0', '--log-format', 'json']
    const { stdout, stderr, exit, interrupt } = start(args)
    await stdout.line(/^listening/)
    interrupt()
    expect(await exit).toBe(0)
    const events = stderr.lines.map(line => JSON.parse(line)).map(({ event, level }) => [event, level])
    expect(events).toEqual([
      ['listening', 30],
      ['stopped', 30],
    ])
  })

  it('serve rejects an unknown level', async () => {
    expect(await execute(['serve', '--log-level', 'loud'])).toMatchObject({ code: 2 })
  })
})
