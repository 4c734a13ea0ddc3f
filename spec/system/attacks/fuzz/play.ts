import { connect, type Socket } from 'node:net'
import { UPGRADE } from '../../../../harness/web-socket.js'
import type { StoreAddresses } from '../support/store-child.js'
import type { FuzzSession } from './session.js'
import { FramePayloadReader, frameOf, PongCounter, splitIntoChunks } from './wire.js'

/**
 * The silence in ms after which the broker is assumed to wait for the rest of a packet. The connection is then closed.
 */
const SILENCE_MS = 150

/** Sends all packets of a session. Returns the number of mutated packets that the broker is known to have processed. */
export async function play(
  { url, wsUrl }: StoreAddresses,
  { transport, packets, random }: FuzzSession,
): Promise<number> {
  const overTcp = transport === 'tcp'
  const socket = connect({ port: Number(new URL(overTcp ? url : wsUrl).port), host: '127.0.0.1', noDelay: true })
  socket.on('error', () => undefined)
  const answers = new ServerInput(overTcp)
  const bytes = Buffer.concat(packets.map(packet => packet.bytes))
  const expected = packets.filter(({ bytes: [first] }) => first === 0xc0).length
  if (!overTcp) socket.write(UPGRADE)
  for (const piece of splitIntoChunks(random, bytes)) socket.write(overTcp ? piece : frameOf(random, piece))
  const closed = await awaitClose(socket, data => {
    answers.read(data)
    return answers.closed || answers.pongs >= expected
  })
  return countProcessed(packets, answers.pongs, closed || answers.closed)
}

/** Resolves at the end of the connection with whether the broker ended the connection. */
const awaitClose = (socket: Socket, isDone: (data: Buffer) => boolean): Promise<boolean> =>
  new Promise(resolve => {
    let closed = true
    const hangUp = (): void => {
      closed = false
      socket.destroy()
    }
    let silenceTimer = setTimeout(hangUp, 10 * SILENCE_MS)
    socket.on('data', data => {
      clearTimeout(silenceTimer)
      silenceTimer = setTimeout(hangUp, SILENCE_MS)
      if (isDone(data)) hangUp()
    })
    socket.once('close', () => {
      clearTimeout(silenceTimer)
      resolve(closed)
    })
  })

class ServerInput {
  readonly #pongs = new PongCounter()
  readonly #frames: FramePayloadReader | undefined
  #upgraded = false

  constructor(overTcp: boolean) {
    this.#frames = overTcp ? undefined : new FramePayloadReader()
  }

  get pongs(): number {
    return this.#pongs.count
  }

  /** Whether the broker has sent a close frame. */
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

/**
 * Returns the number of mutated packets that were processed. A PINGREQ follows each of them, and the packet on which
 * the broker ends the connection gets no response.
 */
function countProcessed(packets: FuzzSession['packets'], pongs: number, closed: boolean): number {
  let [left, count] = [pongs, 0]
  for (const { bytes, mutated } of packets) {
    if (bytes[0] === 0xc0 && bytes.length === 2) left--
    else if (mutated) count++
    if (left < 0 || (left === 0 && !closed)) break
  }
  return count
}
