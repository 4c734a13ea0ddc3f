import { Random } from '../../../../harness/random.js'
import { PINGREQ } from '../../../support/packets.js'
import { mutate, reword } from './mutate.js'
import { clientIdOf, validConnect, validPacket } from './valid-packets.js'

/** The input of one connection. */
export interface FuzzSession {
  readonly transport: 'tcp' | 'websocket'
  readonly packets: readonly { readonly bytes: Buffer; readonly mutated: boolean }[]
  /** Decides how the bytes are split into chunks. */
  readonly random: Random
}

/** Returns the session of a seed. The session is deterministic except for the time in requests to the store. */
export function sessionOf(seed: number): FuzzSession {
  const random = new Random(seed)
  const clientId = clientIdOf(random)
  const transport = random.chance(0.25) ? 'websocket' : 'tcp'
  const hello = validConnect(random, clientId)
  const packets = [
    random.chance(0.1) ? { bytes: mutate(random, hello), mutated: true } : { bytes: hello, mutated: false },
  ]
  for (let left = random.int(4, 24); left > 0; left--) {
    const bytes = validPacket(random, clientId)
    const mutated = random.chance(0.8)
    // The PINGRESP packets show how much of the input the broker has processed.
    packets.push(
      { bytes: mutated ? (random.chance(0.08) ? mutate(random, bytes) : reword(random, bytes)) : bytes, mutated },
      { bytes: PINGREQ, mutated: false },
    )
  }
  // Changes the order by repeating a packet or sending it early.
  if (random.chance(0.1)) {
    const [from, to] = [random.int(0, packets.length - 1), random.int(0, packets.length - 1)]
    const moved = packets[from]
    if (moved !== undefined) packets.splice(to, 0, { ...moved, mutated: true })
  }
  return { transport, packets, random }
}
