import { describe, expect, it } from 'vitest'
import { DeferredTasks } from '../../../../src/server/broker/core/broker-core.js'

describe('What comes afterwards', () => {
  it('comes at once when nothing is under way', () => {
    const log: string[] = []
    new DeferredTasks().later(() => log.push('will'))
    expect(log).toEqual(['will'])
  })

  it('waits for all that is under way, and comes in its order', () => {
    const log: string[] = []
    const afterwards = new DeferredTasks()
    const result = afterwards.during(() => {
      afterwards.later(() => log.push('first'))
      afterwards.during(() => afterwards.later(() => log.push('second')))
      log.push('message')
      return 7
    })
    expect([result, log]).toEqual([7, ['message', 'first', 'second']])
  })

  it('may have something come behind itself', () => {
    const log: string[] = []
    const afterwards = new DeferredTasks()
    const will = () => afterwards.during(() => afterwards.later(() => log.push('another')))
    afterwards.during(() => afterwards.later(will))
    expect(log).toEqual(['another'])
  })

  it('comes also when the work fails', () => {
    const log: string[] = []
    const afterwards = new DeferredTasks()
    const work = () => {
      afterwards.later(() => log.push('will'))
      throw new RangeError('a fault')
    }
    expect(() => afterwards.during(work)).toThrow(RangeError)
    expect(log).toEqual(['will'])
  })
})
