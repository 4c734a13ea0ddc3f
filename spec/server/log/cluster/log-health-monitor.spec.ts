import { describe, expect, it } from 'vitest'
import { type Availability, LogHealthMonitor } from '../../../../src/server/log/cluster/log-health-monitor.js'

function open() {
  const told: Availability[] = []
  let [time, late, beats] = [0, 0, 0]
  let task: (() => void) | undefined
  const clock = {
    now: () => time,
    monotonic: () => time,
    schedule: (_: number, run: () => void) => {
      task = run
      return () => undefined
    },
  }
  const pulse = new LogHealthMonitor(10_000, {
    clock,
    oldestAgeMs: () => late,
    isBusy: () => late > 0,
    sendHeartbeat: () => beats++,
    onAvailabilityChange: availability => told.push(availability),
    onCheck: () => undefined,
  })
  pulse.start()
  /** Runs a check after some time, ms. */
  const look = (passed: number, lateness = 0): void => {
    time += passed
    late = lateness
    task?.()
  }
  return { pulse, told, look, beats: () => beats }
}

describe('LogHealthMonitor', () => {
  it('the monitor reports when the log is slow, and when it is unavailable', () => {
    const { pulse, told, look } = open()
    look(500, 500)
    look(500, 2_500)
    look(500, 9_999)
    look(500, 10_000)
    look(500, 11_000)
    expect(told).toEqual(['waiting', 'away'])
    pulse.recordArrival()
    expect(told).toEqual(['waiting', 'away', 'kept'])
  })

  it('the monitor does not report the log when the process itself was suspended', () => {
    const { told, look } = open()
    look(60_000, 60_000)
    expect(told).toEqual([])
    look(500, 60_500)
    expect(told).toEqual(['away'])
  })

  it('the monitor sends a heartbeat after three seconds without messages', () => {
    const { pulse, look, beats } = open()
    for (let at = 0; at < 5; at++) look(500)
    expect(beats()).toBe(0)
    look(500)
    expect(beats()).toBe(1)
    pulse.recordSent()
    look(500)
    expect(beats()).toBe(1)
  })
})
