import { connect as connectTcp, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../../src/core/util/clock.js'
import { PacedSocket } from '../../../../src/server/broker/transport/paced-socket.js'
import { Turns } from '../../../../src/server/broker/transport/turns.js'
import { listen } from '../../../support/listen.js'

/** A paced socket and who speaks to it. */
async function open(turns = new Turns(systemClock)): Promise<{ paced: PacedSocket; below: Socket; client: Socket }> {
  const server = createServer({ allowHalfOpen: true, noDelay: true })
  const port = await listen(server)
  const accepted = new Promise<Socket>(resolve => server.once('connection', resolve))
  const client = connectTcp({ port, host: '127.0.0.1' })
  const below = await accepted
  onTestFinished(() => {
    for (const socket of [client, below]) socket.destroy()
    server.close()
  })
  return { paced: new PacedSocket(below, turns), below, client }
}

const collected = async (stream: AsyncIterable<Uint8Array>): Promise<Buffer[]> => {
  const pieces: Buffer[] = []
  for await (const piece of stream) pieces.push(Buffer.from(piece))
  return pieces
}

describe('A paced socket', () => {
  it('hands on every byte in its place, in small pieces, and then the end', async () => {
    const { paced, client } = await open()
    const sent = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * i) % 251))
    client.end(sent)
    const pieces = await collected(paced)
    expect(Buffer.concat(pieces).equals(sent)).toBe(true)
    expect(pieces.length).toBeGreaterThan(10)
  })

  it('hands on nothing while others have the turn, and does not read on meanwhile', async () => {
    const turns = new Turns(systemClock)
    let isOver = false
    turns.begin(() => {
      // All of this turn and of the next ones.
      const end = performance.now() + 20
      while (performance.now() < end);
      return !isOver
    })
    const { paced, below, client } = await open(turns)
    const pieces: Uint8Array[] = []
    paced.on('data', (piece: Uint8Array) => pieces.push(piece))
    client.write(Buffer.alloc(100_000))
    await new Promise<void>(resolve => below.once('data', () => resolve()))
    expect([pieces.length, below.isPaused()]).toEqual([0, true])
    isOver = true
    let count = 0
    await new Promise<void>(resolve => {
      paced.on('data', (piece: Uint8Array) => {
        count += piece.length
        if (count + pieces.reduce((sum, one) => sum + one.length, 0) >= 100_000) resolve()
      })
    })
  })

  it('writes what it is given, and its end is the end of the socket', async () => {
    const { paced, client } = await open()
    paced.cork()
    for (const text of ['one ', 'two ', 'three']) paced.write(text)
    paced.uncork()
    paced.end(' end')
    expect(Buffer.concat(await collected(client)).toString()).toBe('one two three end')
  })

  it('goes with its socket, and the socket with it', async () => {
    const [first, second] = [await open(), await open()]
    const closed = [first.paced, second.below].map(
      stream => new Promise<void>(resolve => stream.once('close', resolve)),
    )
    first.below.destroy()
    second.paced.destroy()
    await Promise.all(closed)
    expect([first.paced.destroyed, second.below.destroyed]).toEqual([true, true])
  })
})
