import { Duplex } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coalesceWrites } from '../../src/broker/coalesce.js'

function noting(highWaterMark = 1_000_000) {
  const calls: Buffer[] = []
  const waiting: (() => void)[] = []
  const stream = coalesceWrites(
    new Duplex({
      highWaterMark,
      read: () => undefined,
      write: (chunk, _encoding, done) => {
        calls.push(chunk)
        waiting.push(done)
      },
    }),
  )
  const taken = (): void => {
    for (const done of waiting.splice(0)) done()
  }
  return { stream, calls, taken }
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(() => setImmediate(resolve)))

describe('coalesced writes', () => {
  it('leave as one piece at the end of the turn', async () => {
    const { stream, calls, taken } = noting()
    stream.write(Buffer.from([1, 2]))
    stream.write('ä')
    stream.write(Buffer.from([3]))
    expect(calls).toEqual([])
    await turn()
    taken()
    stream.write(Buffer.from([4]))
    await turn()
    expect(calls).toEqual([Buffer.from([1, 2, 0xc3, 0xa4, 3]), Buffer.from([4])])
  })

  it('keep every byte in its place, whatever is written in whatever turns', async () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      fc.constantFrom(15_000, 16_384, 16_385, 70_000).map(length => new Uint8Array(length).fill(length)),
      fc.string({ unit: 'grapheme', maxLength: 30 }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ piece, turn: fc.boolean() }), { maxLength: 40 }), async steps => {
        const { stream, calls, taken } = noting()
        for (const step of steps) {
          stream.write(step.piece)
          if (!step.turn) continue
          await turn()
          taken()
        }
        for (let i = 0; i < 3 + steps.length; i++) {
          await turn()
          taken()
        }
        const expected = Buffer.concat(steps.map(step => Buffer.from(step.piece)))
        expect(Buffer.concat(calls).equals(expected)).toBe(true)
      }),
      { numRuns: 50 },
    )
  })

  it('leave before the end of the stream', async () => {
    const { stream, calls, taken } = noting()
    stream.write(Buffer.from([1]))
    stream.end(Buffer.from([2]))
    taken()
    await turn()
    taken()
    expect(Buffer.concat(calls)).toEqual(Buffer.from([1, 2]))
  })

  it('tell when the stream is full, and that it drained', async () => {
    const { stream, taken } = noting(10)
    let drained = 0
    stream.on('drain', () => drained++)
    expect(stream.write(Buffer.alloc(20))).toBe(true)
    await turn()
    expect(stream.write(Buffer.alloc(1))).toBe(false)
    taken()
    await turn()
    taken()
    await turn()
    expect(drained).toBeGreaterThan(0)
    expect(stream.writableNeedDrain).toBe(false)
  })

  it('are dropped with a stream that is destroyed', async () => {
    const { stream, calls } = noting()
    stream.on('error', () => undefined)
    stream.write(Buffer.from([1]))
    stream.destroy()
    await turn()
    expect(calls).toEqual([])
  })
})
