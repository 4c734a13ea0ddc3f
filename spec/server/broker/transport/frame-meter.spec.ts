import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { Budget } from '../../../../src/server/broker/limits/budget.js'
import { FrameMeter } from '../../../../src/server/broker/transport/frame-meter.js'

const setUp = (limit = 1e9) => {
  const budget = new Budget(limit)
  const socket = new Socket()
  const meter = new FrameMeter(socket, budget)
  return {
    budget,
    meter,
    socket,
    came: (bytes: number) => socket.emit('data', new Uint8Array(bytes)),
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
    meter.clear()
    socket.emit('close')
    expect(budget.used).toBe(0)
  })

  it('counts whole frames until they are read, though the socket is gone by then', () => {
    const { budget, meter, socket, came } = setUp()
    came(1_000)
    meter.frame(990)
    came(500)
    socket.emit('close')
    meter.frame(480)
    expect(budget.used).toBe(1_470)
    meter.read(990)
    expect(budget.used).toBe(480)
    meter.clear()
    expect(budget.used).toBe(0)
  })

  it('counts nothing that is read or comes when it is over', () => {
    const { budget, meter, came } = setUp()
    came(1_000)
    meter.frame(990)
    meter.clear()
    meter.read(990)
    came(100)
    meter.frame(90)
    meter.control(10)
    expect([meter.held, budget.used]).toEqual([0, 0])
  })

  it('says what it counts, and counts nothing of what is given up', () => {
    const { budget, meter, came } = setUp()
    came(1_000)
    meter.frame(990)
    came(500)
    expect(meter.held).toBe(1_490)
    meter.clear()
    expect([meter.held, budget.used]).toEqual([0, 0])
  })
})
