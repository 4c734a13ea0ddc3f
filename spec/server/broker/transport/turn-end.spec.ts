import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { atTurnEnd } from '../../../../src/server/broker/transport/outflow.js'

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

describe('At the end of a turn', () => {
  const thrown: unknown[] = []
  const listeners = process.listeners('uncaughtException')

  beforeEach(() => {
    thrown.length = 0
    process.removeAllListeners('uncaughtException')
    process.on('uncaughtException', error => thrown.push(error))
  })

  afterEach(() => {
    process.removeAllListeners('uncaughtException')
    for (const listener of listeners) process.on('uncaughtException', listener)
  })

  it('all is done in the order in which it came, and what comes meanwhile in the next one', async () => {
    const done: string[] = []
    atTurnEnd(() => {
      done.push('a')
      atTurnEnd(() => done.push('c'))
    })
    atTurnEnd(() => done.push('b'))
    expect(done).toEqual([])
    await turn()
    expect(done).toEqual(['a', 'b'])
    await turn()
    expect(done).toEqual(['a', 'b', 'c'])
  })

  it('an error is nobody else’s', async () => {
    const done: string[] = []
    const error = new Error('ours')
    atTurnEnd(() => done.push('a'))
    atTurnEnd(() => {
      throw error
    })
    atTurnEnd(() => done.push('b'))
    await turn()
    await turn()
    await turn()
    expect([done, thrown]).toEqual([['a', 'b'], [error]])
  })
})
