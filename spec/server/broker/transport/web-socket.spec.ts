import { connect as connectTcp, createServer, Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { MemoryBudget } from '../../../../src/node/limits/memory-budget.js'
import { ThrottledSocket, WebSocketBufferMeter } from '../../../../src/server/broker/transport/web-socket.js'
import { listen } from '../../../support/listen.js'
import { openTurnScheduler } from '../../../support/turn-scheduler.js'

async function open(
  scheduler = openTurnScheduler(),
): Promise<{ throttled: ThrottledSocket; socket: Socket; client: Socket }> {
  const server = createServer({ allowHalfOpen: true, noDelay: true })
  const port = await listen(server)
  const accepted = new Promise<Socket>(resolve => server.once('connection', resolve))
  const client = connectTcp({ port, host: '127.0.0.1' })
  const socket = await accepted
  onTestFinished(() => {
    for (const each of [client, socket]) each.destroy()
    server.close()
  })
  return { throttled: new ThrottledSocket(socket, scheduler), socket, client }
}

const collected = async (stream: AsyncIterable<Uint8Array>): Promise<Buffer[]> => {
  const pieces: Buffer[] = []
  for await (const piece of stream) pieces.push(Buffer.from(piece))
  return pieces
}

describe('ThrottledSocket', () => {
  it('the throttled socket delivers all bytes in order and in small pieces, and then ends', async () => {
    const { throttled, client } = await open()
    const sent = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * i) % 251))
    client.end(sent)
    const pieces = await collected(throttled)
    expect(Buffer.concat(pieces).equals(sent)).toBe(true)
    expect(pieces.length).toBeGreaterThan(10)
  })

  it('the throttled socket delivers nothing and pauses reading while other work is scheduled', async () => {
    const scheduler = openTurnScheduler()
    let isOver = false
    scheduler.run(() => {
      // Occupies this iteration and the next iterations of the event loop.
      const end = performance.now() + 20
      while (performance.now() < end);
      return !isOver
    })
    const { throttled, socket, client } = await open(scheduler)
    const pieces: Uint8Array[] = []
    throttled.on('data', (piece: Uint8Array) => pieces.push(piece))
    client.write(Buffer.alloc(100_000))
    await new Promise<void>(resolve => socket.once('data', () => resolve()))
    expect([pieces.length, socket.isPaused()]).toEqual([0, true])
    isOver = true
    let count = 0
    await new Promise<void>(resolve => {
      throttled.on('data', (piece: Uint8Array) => {
        count += piece.length
        if (count + pieces.reduce((sum, one) => sum + one.length, 0) >= 100_000) resolve()
      })
    })
  })

  it('the throttled socket sends everything written to it, and closes the socket when it ends', async () => {
    const { throttled, client } = await open()
    throttled.cork()
    for (const text of ['one ', 'two ', 'three']) throttled.write(text)
    throttled.uncork()
    throttled.end(' end')
    expect(Buffer.concat(await collected(client)).toString()).toBe('one two three end')
  })

  it('destroying the throttled socket destroys its socket, and vice versa', async () => {
    const [first, second] = [await open(), await open()]
    const closed = [first.throttled, second.socket].map(
      stream => new Promise<void>(resolve => stream.once('close', resolve)),
    )
    first.socket.destroy()
    second.throttled.destroy()
    await Promise.all(closed)
    expect([first.throttled.destroyed, second.socket.destroyed]).toEqual([true, true])
  })
})

const setUp = (limit = 1e9) => {
  const budget = new MemoryBudget(limit)
  const socket = new Socket()
  const meter = new WebSocketBufferMeter(socket, budget)
  return {
    budget,
    meter,
    socket,
    came: (bytes: number) => socket.emit('data', new Uint8Array(bytes)),
  }
}

describe('WebSocketBufferMeter', () => {
  it('the meter charges bytes of incomplete frames', () => {
    const { budget, meter, came } = setUp()
    came(1_000)
    came(500)
    expect(budget.used).toBe(1_500)
    meter.onFrame(1_494)
    expect(budget.used).toBe(1_494)
    meter.onRead(1_494)
    expect(budget.used).toBe(0)
  })

  it('the meter charges nothing for pings, even for those within a fragmented message', () => {
    const { budget, meter, came } = setUp()
    came(1_000)
    came(131)
    meter.onControlFrame(125)
    expect(budget.used).toBe(1_000)
  })

  it('the meter charges nothing after the connection has closed', () => {
    const { budget, meter, socket, came } = setUp()
    came(1_000)
    meter.onFrame(990)
    came(1_000)
    meter.clear()
    socket.emit('close')
    expect(budget.used).toBe(0)
  })

  it('the meter charges complete frames until they are read, even after the socket has closed', () => {
    const { budget, meter, socket, came } = setUp()
    came(1_000)
    meter.onFrame(990)
    came(500)
    socket.emit('close')
    meter.onFrame(480)
    expect(budget.used).toBe(1_470)
    meter.onRead(990)
    expect(budget.used).toBe(480)
    meter.clear()
    expect(budget.used).toBe(0)
  })

  it('the meter charges nothing for data that is read or arrives after the connection has ended', () => {
    const { budget, meter, came } = setUp()
    came(1_000)
    meter.onFrame(990)
    meter.clear()
    meter.onRead(990)
    came(100)
    meter.onFrame(90)
    meter.onControlFrame(10)
    expect([meter.heldBytes, budget.used]).toEqual([0, 0])
  })

  it('the meter releases the charged bytes, and charges nothing for discarded data', () => {
    const { budget, meter, came } = setUp()
    came(1_000)
    meter.onFrame(990)
    came(500)
    expect(meter.heldBytes).toBe(1_490)
    meter.clear()
    expect([meter.heldBytes, budget.used]).toEqual([0, 0])
  })
})
