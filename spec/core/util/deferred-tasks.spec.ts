import { describe, expect, it } from 'vitest'
import { DeferredTasks, unlessRunning } from '../../../src/core/util/deferred-tasks.js'

const open = () => {
  const log: unknown[] = []
  return { log, tasks: new DeferredTasks(error => log.push(error)) }
}

/** More nested calls than any stack holds. */
const LONG_CHAIN = 100_000

describe('DeferredTasks', () => {
  it('a deferred task runs immediately when no other work is running', () => {
    const { log, tasks } = open()
    tasks.defer(() => log.push('will'))
    expect(log).toEqual(['will'])
  })

  it('deferred tasks run in order after the running work', () => {
    const { log, tasks } = open()
    const result = tasks.run(() => {
      tasks.defer(() => log.push('first'))
      tasks.run(() => tasks.defer(() => log.push('second')))
      log.push('message')
      return 7
    })
    expect([result, log]).toEqual([7, ['message', 'first', 'second']])
  })

  it('a task that a deferred task defers runs after the tasks that were deferred before', () => {
    const { log, tasks } = open()
    const will = (): void => {
      tasks.run(() => tasks.defer(() => log.push('another')))
      log.push('first')
    }
    tasks.run(() => {
      tasks.defer(will)
      tasks.defer(() => log.push('second'))
    })
    expect(log).toEqual(['first', 'second', 'another'])
  })

  it.each(['run', 'defer'] as const)('a chain of deferred tasks that `%s` starts needs no stack', method => {
    const { log, tasks } = open()
    let count = 0
    const next = (): void => {
      if (++count < LONG_CHAIN) tasks.run(() => tasks.defer(next))
    }
    tasks[method](next)
    expect([count, log]).toEqual([LONG_CHAIN, []])
  })

  it('deferred tasks run even if the running work throws', () => {
    const { log, tasks } = open()
    const work = () => {
      tasks.defer(() => log.push('will'))
      throw new RangeError('a fault')
    }
    expect(() => tasks.run(work)).toThrow(RangeError)
    expect(log).toEqual(['will'])
  })

  it('the error of a deferred task is reported, and the other tasks run', () => {
    const { log, tasks } = open()
    const fault = new RangeError('a fault')
    tasks.run(() => {
      tasks.defer(() => {
        throw fault
      })
      tasks.defer(() => log.push('will'))
    })
    tasks.defer(() => log.push('later'))
    expect(log).toEqual([fault, 'will', 'later'])
  })
})

describe('unlessRunning', () => {
  it('a call from within the loop has no effect', () => {
    let count = 0
    const loop = unlessRunning(() => {
      count++
      loop()
    })
    loop()
    loop()
    expect(count).toBe(2)
  })

  it('the function can be called again after the loop has thrown', () => {
    let count = 0
    const loop = unlessRunning(() => {
      if (++count === 1) throw new RangeError('a fault')
    })
    expect(loop).toThrow(RangeError)
    loop()
    expect(count).toBe(2)
  })
})
