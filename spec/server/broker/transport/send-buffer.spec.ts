import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { MemoryBudget } from '../../../../src/node/limits/memory-budget.js'
import { WRITE_BYTES_PER_TURN } from '../../../../src/node/limits/turn-scheduler.js'
import { Traffic } from '../../../../src/server/broker/limits/traffic.js'
import { SendBuffer } from '../../../../src/server/broker/transport/send-buffer.js'
import { openTurnScheduler } from '../../../support/turn-scheduler.js'

/** Opens a send buffer on a stream that accepts data only when the test permits it. */
function openSendBuffer(scheduler = openTurnScheduler()) {
  const calls: Buffer[] = []
  const waiting: (() => void)[] = []
  const stream = new Duplex({
    read: () => undefined,
    write: (chunk, _encoding, done) => {
      calls.push(chunk)
      waiting.push(done)
    },
    writev: (chunks, done) => {
      for (const { chunk } of chunks) calls.push(chunk)
      waiting.push(done)
    },
  })
  const socket = new Socket()
  onTestFinished(() => void socket.destroy())
  let drainCount = 0
  const budget = new MemoryBudget(1_000_000)
  const sendBuffer = new SendBuffer(stream, socket, { budget, traffic: new Traffic(), scheduler }, () => drainCount++)
  const accept = (): void => {
    for (const done of waiting.splice(0)) done()
  }
  return { stream, socket, sendBuffer, budget, calls, accept, drainCount: () => drainCount }
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(() => setImmediate(resolve)))
const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)

describe('SendBuffer', () => {
  it('the send buffer sends all writes of one event loop iteration as one piece', async () => {
    const { sendBuffer, calls, accept } = openSendBuffer()
    sendBuffer.write(bytes(1, 2))
    const at = sendBuffer.allocate(2)
    sendBuffer.block.set([3, 4], at)
    sendBuffer.write(bytes(5))
    expect([calls, sendBuffer.unsentBytes]).toEqual([[], 5])
    await turn()
    expect([calls, sendBuffer.unsentBytes]).toEqual([[Buffer.from([1, 2, 3, 4, 5])], 5])
    accept()
    await turn()
    expect(sendBuffer.unsentBytes).toBe(0)
  })

  it('the send buffer sends immediately on flush', () => {
    const { sendBuffer, calls } = openSendBuffer()
    sendBuffer.hold()
    sendBuffer.write(bytes(1))
    sendBuffer.flush()
    expect(calls).toEqual([Buffer.from([1])])
  })

  it('delayFlush sends held data together with data written in the same iteration', async () => {
    const { sendBuffer, calls } = openSendBuffer()
    // A response that is ready immediately after the disk write.
    setImmediate(() => sendBuffer.write(bytes(2)))
    sendBuffer.hold()
    sendBuffer.write(bytes(1))
    sendBuffer.delayFlush()
    sendBuffer.release()
    expect(calls).toEqual([])
    await turn()
    expect(calls).toEqual([Buffer.from([1, 2])])
  })

  it('the send buffer requires a call of delayFlush for each release', () => {
    const { sendBuffer, calls, accept } = openSendBuffer()
    sendBuffer.hold()
    sendBuffer.delayFlush()
    sendBuffer.release()
    sendBuffer.hold()
    sendBuffer.write(bytes(1))
    sendBuffer.release()
    accept()
    expect(calls).toEqual([Buffer.from([1])])
  })

  it('data collects while the network accepts none, and is then sent as one piece', async () => {
    const { sendBuffer, calls, accept, drainCount } = openSendBuffer()
    sendBuffer.write(bytes(1))
    await turn()
    for (const value of [2, 3]) {
      sendBuffer.write(bytes(value))
      await turn()
    }
    expect([calls.length, sendBuffer.unsentBytes, drainCount()]).toEqual([1, 3, 0])
    accept()
    await turn()
    expect([calls.map(call => [...call]), drainCount()]).toEqual([[[1], [2, 3]], 1])
  })

  it('the send buffer keeps the order of bytes for any sequence of writes', async () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      fc.constantFrom(500, 15_000, 16_384, 16_385, 70_000).map(length => new Uint8Array(length).fill(length)),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ piece, turn: fc.boolean() }), { maxLength: 40 }), async steps => {
        const { sendBuffer, calls, accept } = openSendBuffer()
        for (const step of steps) {
          sendBuffer.write(step.piece)
          if (!step.turn) continue
          await turn()
          accept()
        }
        for (let i = 0; i < 3 + steps.length; i++) {
          await turn()
          accept()
        }
        expect(Buffer.concat(calls).equals(Buffer.concat(steps.map(step => step.piece)))).toBe(true)
        expect([sendBuffer.unsentBytes, sendBuffer.isFull]).toEqual([0, false])
      }),
      { numRuns: 50 },
    )
  })

  it('the send buffer does not copy large pieces', async () => {
    const { sendBuffer, calls, accept } = openSendBuffer()
    const large = new Uint8Array(20_000)
    sendBuffer.write(bytes(1))
    sendBuffer.write(large)
    await turn()
    accept()
    await turn()
    expect([sendBuffer.isLarge(large), calls.at(-1)?.buffer]).toEqual([true, large.buffer])
  })

  it('the send buffer sends a large piece in parts of 64 KiB', async () => {
    const { sendBuffer, calls, accept } = openSendBuffer()
    const large = Uint8Array.from({ length: 150_000 }, (_, i) => i)
    sendBuffer.write(large)
    await turn()
    accept()
    expect(calls.map(({ length }) => length)).toEqual([65_536, 65_536, 18_928])
    expect(Buffer.concat(calls)).toEqual(Buffer.from(large))
  })

  it('the send buffer is full above 64 KiB', async () => {
    const { sendBuffer, accept } = openSendBuffer()
    sendBuffer.write(new Uint8Array(65_536))
    expect(sendBuffer.isFull).toBe(false)
    sendBuffer.write(bytes(1))
    expect(sendBuffer.isFull).toBe(true)
    await turn()
    expect(sendBuffer.isFull).toBe(true)
    for (let i = 0; i < 3; i++) {
      accept()
      await turn()
    }
    expect(sendBuffer.isFull).toBe(false)
  })

  it('the send buffer ends a stalled connection', async () => {
    const { stream, socket, sendBuffer } = openSendBuffer()
    sendBuffer.write(bytes(1))
    await turn()
    socket.emit('timeout')
    expect([stream.destroyed, socket.timeout]).toEqual([false, undefined])
    sendBuffer.write(new Uint8Array(65_536))
    expect(socket.timeout).toBe(5_000)
    socket.emit('timeout')
    expect(stream.destroyed).toBe(true)
  })

  it('the send buffer ends neither a frozen connection nor a connection with an empty buffer', async () => {
    const { stream, socket, sendBuffer, accept } = openSendBuffer()
    sendBuffer.write(new Uint8Array(65_537))
    await turn()
    socket.cork()
    socket.emit('timeout')
    expect([stream.destroyed, socket.timeout]).toEqual([false, 5_000])
    socket.uncork()
    for (let i = 0; i < 3; i++) {
      accept()
      await turn()
    }
    expect(socket.timeout).toBe(0)
    socket.emit('timeout')
    expect(stream.destroyed).toBe(false)
  })

  it('the send buffer releases its memory when the connection is destroyed', async () => {
    const { stream, sendBuffer, calls } = openSendBuffer()
    stream.on('error', () => undefined)
    sendBuffer.write(bytes(1))
    stream.destroy()
    await turn()
    sendBuffer.write(bytes(2))
    await turn()
    expect([calls, sendBuffer.unsentBytes]).toEqual([[], 0])
  })
})

describe('many send buffers with much data', () => {
  it('write a limited number of bytes in each turn, all of it in the end, and then end', async () => {
    const scheduler = openTurnScheduler()
    const buffers = Array.from({ length: 6 }, () => openSendBuffer(scheduler))
    const piece = new Uint8Array(WRITE_BYTES_PER_TURN / 2).fill(7)
    for (const { sendBuffer } of buffers) sendBuffer.write(piece)
    buffers[5]?.sendBuffer.end()
    const sent: number[] = []
    for (let n = 0; n < 5; n++) {
      await new Promise(resolve => setImmediate(resolve))
      sent.push(buffers.filter(({ calls }) => calls.length > 0).length)
    }
    // The first end of a turn has the rest of one budget and all of the next one.
    expect([sent[0], sent.at(-1)]).toEqual([4, 6])
    for (const { accept } of buffers) for (let n = 0; n < 20; n++) accept()
    await turn()
    for (const { calls, sendBuffer } of buffers)
      expect([Buffer.concat(calls).length, sendBuffer.unsentBytes]).toEqual([piece.length, 0])
    expect(buffers.map(({ stream }) => stream.writableEnded)).toEqual([...Array(5).fill(false), true])
  })

  it('keep the order of data that is held while the buffer waits for its turn', async () => {
    const scheduler = openTurnScheduler()
    expect(scheduler.tryReserveWrite(WRITE_BYTES_PER_TURN, () => undefined)).toBe(true)
    const { sendBuffer, calls, accept } = openSendBuffer(scheduler)
    sendBuffer.write(new Uint8Array(20_000).fill(1))
    sendBuffer.flush()
    sendBuffer.hold()
    sendBuffer.write(bytes(2))
    sendBuffer.release()
    expect(calls).toEqual([])
    for (let n = 0; n < 4; n++) {
      await turn()
      accept()
    }
    const all = Buffer.concat(calls)
    expect([all.length, all.at(0), all.at(-1)]).toEqual([20_001, 1, 2])
  })
})
