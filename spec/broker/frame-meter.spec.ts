import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { Budget } from '../../src/broker/budget.js'
import { FrameMeter } from '../../src/broker/frame-meter.js'

const setUp = (limit = 1e9) => {
  const budget = new Budget(limit)
  const socket = new Socket()
  let ended = 0
  const meter = new FrameMeter(socket, budget, () => ended++)
  return {
    budget,
    meter,
    socket,
    came: (bytes: number) => socket.emit('data', new Uint8Array(bytes)),
    ended: () => ended,
  }
}

describe('FrameMeter', () => {
  it('counts what is not a whole frame yet', () => {
    const { budget, meter, came } = setUp()
    came(1_000)
    came(500)
    expect(budget.used).toBe(1_500)
    meter.frame(1_494)
    expect(budget.used).toBe(1_494)
    meter.read(1_494)
    expect(budget.used).toBe(0)
  })

  it('counts nothing for pings, also amid a frame', () => {
    const { budget, meter, came } = setUp()
    came(1_000)
    came(131)
    meter.control(125)
    expect(budget.used).toBe(1_000)
  })

  it('counts nothing any more when the connection is gone', () => {
    const { budget, meter, socket, came } = setUp()
    came(1_000)
    meter.frame(990)
    came(1_000)
    socket.emit('close')
    expect(budget.used).toBe(0)
  })

  it('ends a large frame that is not complete when memory is short', () => {
    const { came, ended } = setUp(100_000)
    came(60_000)
    expect(ended()).toBe(0)
    came(60_000)
    expect(ended()).toBe(1)
  })

  it('leaves small ones alone when others use up the memory', () => {
    const { budget, came, ended } = setUp(100_000)
    budget.count(200_000)
    came(1_000)
    expect(ended()).toBe(0)
  })
})
