import { connect, type Socket } from 'node:net'
import { UPGRADE } from '../../../support/web-socket.js'
import type { StoreAddresses } from '../support/store-child.js'
import type { FuzzSession } from './session.js'
import { cut, frameOf, PongCounter, Unframer } from './wire.js'

/** A connection that says nothing for so long waits for more of a packet, and has its end, ms. */
const QUIET = 150

/** Sends all packets of a session. Returns how many mutated ones have certainly been looked at. */
export async function play(
  { url, wsUrl }: StoreAddresses,
  { transport, packets, random }: FuzzSession,
): Promise<number> {
  const overTcp = transport === 'tcp'
  const socket = connect({ port: Number(new URL(overTcp ? url : wsUrl).port), host: '127.0.0.1', noDelay: true })
  socket.on('error', () => undefined)
  const answers = new Answers(overTcp)
  const bytes = Buffer.concat(packets.map(packet => packet.bytes))
  const expected = packets.filter(({ bytes: [first] }) => first === 0xc0).length
  if (!overTcp) socket.write(UPGRADE)
  for (const piece of cut(random, bytes)) socket.write(overTcp ? piece : frameOf(random, piece))
  const closed = await over(socket, data => {
    answers.read(data)
    return answers.closed || answers.pongs >= expected
  })
  return lookedAt(packets, answers.pongs, closed || answers.closed)
}

/** Settles when the connection has ended, with whether that was the broker's doing. */
const over = (socket: Socket, isDone: (data: Buffer) => boolean): Promise<boolean> =>
  new Promise(resolve => {
    let closed = true
    const hangUp = (): void => {
      closed = false
      socket.destroy()
    }
    let quiet = setTimeout(hangUp, 10 * QUIET)
    socket.on('data', data => {
      clearTimeout(quiet)
      quiet = setTimeout(hangUp, QUIET)
      if (isDone(data)) hangUp()
    })
    socket.once('close', () => {
      clearTimeout(quiet)
      resolve(closed)
    })
  })

/** What comes back. */
class Answers {
  readonly #pongs = new PongCounter()
  readonly #frames: Unframer | undefined
  #upgraded = false

  constructor(overTcp: boolean) {
    this.#frames = overTcp ? undefined : new Unframer()
  }

  get pongs(): number {
    return this.#pongs.count
  }

  /** The broker has said over a WebSocket that it is over. */
  get closed(): boolean {
    return this.#frames?.closed ?? false
  }

  read(data: Buffer): void {
    if (this.#frames === undefined) {
      this.#pongs.read(data)
      return
    }
    const begin = this.#upgraded ? 0 : data.indexOf('\r\n\r\n') + 4
    this.#upgraded = true
    for (const payload of this.#frames.read(data.subarray(begin))) this.#pongs.read(payload)
  }
}

/** Each mutated packet is followed by a ping; that on which the broker ends the connection has no answer. */
function lookedAt(packets: FuzzSession['packets'], pongs: number, closed: boolean): number {
  let [left, count] = [pongs, 0]
  for (const { bytes, mutated } of packets) {
    if (bytes[0] === 0xc0 && bytes.length === 2) left--
    else if (mutated) count++
    if (left < 0 || (left === 0 && !closed)) break
  }
  return count
}
