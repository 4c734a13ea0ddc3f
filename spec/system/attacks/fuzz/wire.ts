import type { Random } from '../../../../harness/random.js'
import { webSocketFrame } from '../../../../harness/web-socket.js'

/** Splits server data into MQTT packets and counts the PINGRESP packets. */
export class PongCounter {
  count = 0
  #rest: Buffer = Buffer.alloc(0)

  read(data: Buffer): void {
    let bytes = this.#rest.length === 0 ? data : Buffer.concat([this.#rest, data])
    for (;;) {
      const end = endOfPacket(bytes)
      if (end === undefined || end > bytes.length) break
      if (bytes[0] === 0xd0) this.count++
      bytes = bytes.subarray(end)
    }
    this.#rest = bytes
  }
}

function endOfPacket(bytes: Buffer): number | undefined {
  let length = 0
  for (let at = 1; at < 5; at++) {
    const byte = bytes[at]
    if (byte === undefined) return undefined
    length += (byte & 127) * 128 ** (at - 1)
    if (byte < 128) return at + 1 + length
  }
  return undefined
}

/** Extracts the payloads of server frames, which are not masked (RFC 6455, section 5.2). */
export class FramePayloadReader {
  /** Whether the server has sent a close frame (RFC 6455, section 5.5.1). */
  closed = false
  #rest: Buffer = Buffer.alloc(0)

  read(data: Buffer): Buffer[] {
    let bytes = Buffer.concat([this.#rest, data])
    const payloads: Buffer[] = []
    for (;;) {
      const short = (bytes[1] ?? 0) & 127
      const head = short === 126 ? 4 : short === 127 ? 10 : 2
      if (bytes.length < head) break
      const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? bytes.readUInt32BE(6) : short
      if (bytes.length < head + length) break
      if (((bytes[0] ?? 0) & 15) === 8) this.closed = true
      payloads.push(bytes.subarray(head, head + length))
      bytes = bytes.subarray(head + length)
    }
    this.#rest = bytes
    return payloads
  }
}

/** Returns a client frame, which is occasionally invalid. */
export function frameOf(random: Random, payload: Buffer): Buffer {
  const frame = webSocketFrame(payload)
  if (random.chance(0.005)) frame[0] = random.int(0, 255)
  if (random.chance(0.005)) frame[1] = (frame[1] ?? 0) & 127
  return frame
}

/** Splits bytes into chunks of any length, but usually leaves them whole. */
export function* splitIntoChunks(random: Random, bytes: Buffer): Generator<Buffer> {
  if (random.chance(0.7)) {
    yield bytes
    return
  }
  for (let at = 0; at < bytes.length; ) {
    const end = at + random.pick([1, 3, 50, 1_000, 30_000])
    yield bytes.subarray(at, end)
    at = end
  }
}
