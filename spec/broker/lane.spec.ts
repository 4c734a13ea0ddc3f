import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Lane } from '../../src/broker/lane.js'
import { Outflow } from '../../src/broker/outflow.js'
import { Tap } from '../../src/broker/tap.js'
import { eventually } from '../support/eventually.js'

/** A lane over a stream that takes what it is given only when it is told to. */
function open() {
  let take = (): void => undefined
  const stream = new Duplex({
    read: () => undefined,
    write: (_chunk, _encoding, done) => {
      take = done
    },
  })
  stream.on('data', () => undefined)
  const outflow = new Outflow(stream, new Socket(), () => lane.taken())
  const lane: Lane = new Lane(stream, outflow, new Tap(stream))
  return { stream, outflow, lane, take: () => take() }
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(() => setImmediate(resolve)))

describe('The lane for aedes', () => {
  it('stops the connection while aedes has enough to read, and lets it go on', async () => {
    const { stream, lane } = open()
    lane.feed(Buffer.alloc(1_000_000))
    expect(stream.isPaused()).toBe(true)
    expect(lane.read()).toHaveLength(1_000_000)
    await eventually(() => !stream.isPaused())
  })

  it('tells aedes to wait when the connection is full, and when it may go on', async () => {
    const { lane, take } = open()
    let drained = 0
    lane.on('drain', () => drained++)
    expect(lane.write('ä')).toBe(true)
    expect(lane.write(Buffer.alloc(100_000))).toBe(false)
    await turn()
    expect(drained).toBe(0)
    // Two pieces: what is large is not copied.
    for (const expected of [0, 1]) {
      take()
      await turn()
      expect(drained).toBe(expected)
    }
    expect(lane.write(Buffer.of(1))).toBe(true)
  })

  it('goes with the connection, and the connection with it', async () => {
    const { stream, lane } = open()
    const closed = new Promise(resolve => stream.once('close', resolve))
    lane.destroy()
    await closed
    expect(stream.destroyed).toBe(true)
  })
})
