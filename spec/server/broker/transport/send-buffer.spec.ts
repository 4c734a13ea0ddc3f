import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { MemoryBudget } from '../../../../src/node/limits/memory-budget.js'
import { Traffic } from '../../../../src/server/broker/limits/traffic.js'
import { runAtTurnEnd, SendBuffer } from '../../../../src/server/broker/transport/send-buffer.js'

/** Opens a send buffer on a stream that accepts data only when the test permits it. */
function openSendBuffer() {
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
  const sendBuffer = new SendBuffer(stream, socket, { budget, traffic: new Traffic() }, () => drainCount++)
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

const oneTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

describe('runAtTurnEnd', () => {
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

  it('runs tasks in order, and runs the tasks that they add in the next iteration', async () => {
    const done: string[] = []
    runAtTurnEnd(() => {
      done.push('a')
      runAtTurnEnd(() => done.push('c'))
    })
    runAtTurnEnd(() => done.push('b'))
    expect(done).toEqual([])
    await oneTurn()
    expect(done).toEqual(['a', 'b'])
    await oneTurn()
    expect(done).toEqual(['a', 'b', 'c'])
  })

  it('runs the other tasks when one task throws', async () => {
    const done: string[] = []
    const error = new Error('ours')
    runAtTurnEnd(() => done.push('a'))
    runAtTurnEnd(() => {
      throw error
    })
    runAtTurnEnd(() => done.push('b'))
    await oneTurn()
    await oneTurn()
    await oneTurn()
    expect([done, thrown]).toEqual([['a', 'b'], [error]])
  })
})
