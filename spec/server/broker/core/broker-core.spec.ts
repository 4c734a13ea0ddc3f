import { describe, expect, it } from 'vitest'
import { DeferredTasks } from '../../../../src/server/broker/core/broker-core.js'

describe('What comes afterwards', () => {
  it('comes at once when nothing is under way', () => {
    const log: string[] = []
    new DeferredTasks().defer(() => log.push('will'))
    expect(log).toEqual(['will'])
  })

  it('waits for all that is under way, and comes in its order', () => {
    const log: string[] = []
    const afterwards = new DeferredTasks()
    const result = afterwards.run(() => {
      afterwards.defer(() => log.push('first'))
      afterwards.run(() => afterwards.defer(() => log.push('second')))
      log.push('message')
      return 7
    })
    expect([result, log]).toEqual([7, ['message', 'first', 'second']])
  })

  it('may have something come behind itself', () => {
    const log: string[] = []
    const afterwards = new DeferredTasks()
    const will = () => afterwards.run(() => afterwards.defer(() => log.push('another')))
    afterwards.run(() => afterwards.defer(will))
    expect(log).toEqual(['another'])
  })

  it('comes also when the work fails', () => {
    const log: string[] = []
    const afterwards = new DeferredTasks()
    const work = () => {
      afterwards.defer(() => log.push('will'))
      throw new RangeError('a fault')
    }
    expect(() => afterwards.run(work)).toThrow(RangeError)
    expect(log).toEqual(['will'])
  })
})
