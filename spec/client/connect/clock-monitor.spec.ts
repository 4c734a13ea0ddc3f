import { describe, expect, it } from 'vitest'
import { ClockMonitor } from '../../../src/client/connect/clock-monitor.js'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import type { StateStoreError } from '../../../src/core/util/errors.js'
import { ManualClock, START } from '../../support/manual-clock.js'

function open() {
  const errors: StateStoreError[] = []
  const monitor = new ClockMonitor(new ManualClock(START), error => errors.push(error))
  const assigned = (ms: number): void => monitor.assigned(new Hlc(START + ms, 0, 'StateStore'))
  return { monitor, errors, assigned }
}

describe('ClockMonitor', () => {
  it('knows no offset before a connection', () => {
    expect(open().monitor.offset).toBeUndefined()
  })

  it('uses the time of a store that sends it, and not versions, which other clients may set', () => {
    const { monitor, errors, assigned } = open()
    monitor.connected(START - 2_000)
    assigned(50_000)
    expect(monitor.offset).toBe(-2_000)
    expect(errors).toEqual([])
  })

  it('takes the versions of another store that are ahead of this clock, and 0 for others', () => {
    const { monitor, assigned } = open()
    monitor.connected(undefined)
    assigned(3_000)
    expect(monitor.offset).toBe(3_000)
    assigned(-3_000)
    expect(monitor.offset).toBe(0)
  })

  it('reports an offset of more than 30 s once per connection', () => {
    const { monitor, errors, assigned } = open()
    monitor.connected(undefined)
    assigned(30_000)
    expect(errors).toEqual([])
    assigned(31_000)
    assigned(45_000)
    expect(errors.map(({ message }) => message.slice(0, 44))).toEqual(['The clock of this machine is 31 s behind the'])
    monitor.connected(undefined)
    assigned(45_000)
    expect(errors).toHaveLength(2)
  })
})
