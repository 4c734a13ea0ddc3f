import { describe, expect, it } from 'vitest'
import { type Availability, LogHealthMonitor } from '../../../../src/server/log/cluster/log-health-monitor.js'

function open() {
  const reported: Availability[] = []
  let [time, ageMs, heartbeats] = [0, 0, 0]
  let task: (() => void) | undefined
  const clock = {
    now: () => time,
    monotonic: () => time,
    schedule: (_: number, run: () => void) => {
      task = run
      return () => undefined
    },
  }
  const monitor = new LogHealthMonitor(10_000, {
    clock,
    oldestAgeMs: () => ageMs,
    isBusy: () => ageMs > 0,
    sendHeartbeat: () => heartbeats++,
    onAvailabilityChange: availability => reported.push(availability),
    onCheck: () => undefined,
  })
  monitor.start()
  /** Advances the clock by the given number of milliseconds and runs a check. */
  const runCheck = (elapsedMs: number, newAgeMs = 0): void => {
    time += elapsedMs
    ageMs = newAgeMs
    task?.()
  }
  return { pulse: monitor, told: reported, look: runCheck, beats: () => heartbeats }
}

describe('LogHealthMonitor', () => {
  it('the monitor reports a slow log and an unavailable log', () => {
    const { pulse: monitor, told: reported, look: runCheck } = open()
    runCheck(500, 500)
    runCheck(500, 2_500)
    runCheck(500, 9_999)
    runCheck(500, 10_000)
    runCheck(500, 11_000)
    expect(reported).toEqual(['waiting', 'away'])
    monitor.recordArrival()
    expect(reported).toEqual(['waiting', 'away', 'kept'])
  })

  it('the monitor does not report the log after the process itself was suspended', () => {
    const { told: reported, look: runCheck } = open()
    runCheck(60_000, 60_000)
    expect(reported).toEqual([])
    runCheck(500, 60_500)
    expect(reported).toEqual(['away'])
  })

  it('the monitor sends a heartbeat after three seconds without messages', () => {
    const { pulse: monitor, look: runCheck, beats: heartbeats } = open()
    for (let at = 0; at < 5; at++) runCheck(500)
    expect(heartbeats()).toBe(0)
    runCheck(500)
    expect(heartbeats()).toBe(1)
    monitor.recordSent()
    runCheck(500)
    expect(heartbeats()).toBe(1)
  })
})
