import { Random } from '../../../../harness/random.js'
import { webSocketFrame } from '../../../../harness/web-socket.js'
import { hex, UP_VECTORS } from '../../../pubsub/wire/protobuf-vectors.js'
import { JSON_SUBPROTOCOL, PROTOBUF_SUBPROTOCOL } from '../support/hub-frames.js'
import { mangle, reword } from './mutate.js'

const TEXT = 1
const BINARY = 2

const JSON_FRAMES: readonly [object, ...object[]] = [
  { type: 'joinGroup', group: 'fuzz', ackId: 1 },
  { type: 'leaveGroup', group: 'fuzz', ackId: 2 },
  { type: 'sendToGroup', group: 'fuzz', dataType: 'json', data: { a: [1, 'two', null, { b: 1.5e3 }] }, ackId: 3 },
  { type: 'sendToGroup', group: 'fuzz', dataType: 'text', data: 'hello', noEcho: true, ackId: 4 },
  { type: 'sendToGroup', group: 'fuzz', dataType: 'binary', data: 'AQID', ackId: 5 },
  { type: 'sendToGroup', group: 'fuzz', dataType: 'protobuf', data: 'CgF4', ackId: 6 },
  { type: 'event', event: 'accept', dataType: 'json', data: 21, ackId: 7 },
  { type: 'event', event: 'ignored', dataType: 'text', data: 'x' },
  { type: 'sequenceAck', sequenceId: 1 },
  { type: 'ping' },
  { type: 'invoke', invocationId: 'i', target: 'event', event: 'e' },
  { type: 'streamData', streamId: 's', data: 1 },
  { type: 'joinGroup', group: 'fuzz', ackId: 8, stream: { streamId: 's' } },
]
const [FIRST, ...OTHERS] = UP_VECTORS.map(([, bytes]) => Buffer.from(hex(bytes)))

/** The input of one connection, derived from a seed. */
export interface HubFuzzSession {
  readonly seed: number
  readonly subprotocol: string
  readonly frames: readonly Buffer[]
  /** The number of mutated frames. */
  readonly mutated: number
}

/** Generates a session of valid frames and as many mutated frames. */
export function hubSessionOf(seed: number): HubFuzzSession {
  const random = new Random(seed)
  const isJson = random.chance(0.5)
  const valid = (): Buffer =>
    isJson ? Buffer.from(JSON.stringify(random.pick(JSON_FRAMES))) : random.pick([FIRST ?? Buffer.alloc(0), ...OTHERS])
  const opcode = isJson ? TEXT : BINARY
  const frames: Buffer[] = []
  const length = random.int(1, 20)
  let mutated = 0
  for (let n = 0; n < length; n++) {
    frames.push(webSocketFrame(valid(), opcode))
    const kind = random.next()
    mutated++
    // Most mutations are accepted by the codec, as the session would otherwise end with the first one.
    if (kind < 0.7) frames.push(webSocketFrame(reword(random, valid()), opcode))
    else if (kind < 0.95) frames.push(webSocketFrame(mangle(random, valid()), opcode))
    else frames.push(mangle(random, webSocketFrame(valid(), opcode)))
  }
  return { seed, subprotocol: isJson ? JSON_SUBPROTOCOL : PROTOBUF_SUBPROTOCOL, frames, mutated }
}
