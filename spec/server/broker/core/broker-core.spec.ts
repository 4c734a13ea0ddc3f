import { describe, expect, it } from 'vitest'
import { DeferredTasks } from '../../../../src/server/broker/core/broker-core.js'

describe('DeferredTasks', () => {
  it('a deferred task runs immediately when no other work is running', () => {
    const log: string[] = []
    new DeferredTasks().defer(() => log.push('will'))
    expect(log).toEqual(['will'])
  })

  it('deferred tasks run in order after the running work', () => {
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

  it('a deferred task can defer another task', () => {
    const log: string[] = []
    const afterwards = new DeferredTasks()
    const will = () => afterwards.run(() => afterwards.defer(() => log.push('another')))
    afterwards.run(() => afterwards.defer(will))
    expect(log).toEqual(['another'])
  })

  it('deferred tasks run even if the running work throws', () => {
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
