import type { Random } from '../../../harness/random.js'
import { FrameCutter } from '../../../src/core/mqtt5/frame-cutter.js'
import { layLink } from '../../support/link.js'

/** The first byte of a PUBLISH, and the masks of its type and DUP flag (MQTT 5.0, sections 2.1 and 3.3.1.1). */
const PUBLISH = 0x30
const TYPE_MASK = 0xf0
const DUP_FLAG = 0x08
const MAX_PACKET_BYTES = 1024 * 1024

/** A network that breaks after random messages. */
export interface CuttingLink {
  readonly port: number
  /** The number of broken connections. */
  readonly cuts: number
  /** The number of messages that clients retransmitted. */
  readonly repeated: number
}

/**
 * Opens a network to the broker at `url` on which every client loses its connection after a few messages. The last
 * message arrives, but its acknowledgement does not. The broker detects the loss immediately, or only when the client
 * reconnects. The network is closed at the end of the test.
 */
export async function cuttingLink(url: string, random: Random): Promise<CuttingLink> {
  const counts = { cuts: 0, repeated: 0 }
  const link = await layLink(url, random, ({ near, hangUp }) => {
    const cutter = new FrameCutter(MAX_PACKET_BYTES)
    let messagesLeft = random.int(2, 12)
    return function* (chunk) {
      cutter.push(chunk)
      for (let frame = cutter.next(); frame !== undefined && messagesLeft > 0; frame = cutter.next()) {
        yield Buffer.from(frame)
        const [first = 0] = frame
        if ((first & TYPE_MASK) !== PUBLISH) continue
        if (first & DUP_FLAG) counts.repeated++
        if (--messagesLeft > 0) continue
        counts.cuts++
        // A peer that considers the connection open continues to send.
        if (random.chance(0.5)) hangUp('near')
        else near.destroy()
      }
    }
  })
  return {
    port: Number(new URL(link.url).port),
    get cuts() {
      return counts.cuts
    },
    get repeated() {
      return counts.repeated
    },
  }
}
