import type { Page } from 'playwright-core'

/** The packet type of a PUBLISH, in the first byte with any flags (MQTT 5.0, section 2.1.1). */
const PUBLISH = 3
/**
 * A response's suffix to a read, which is a RESP3 blob. Registrations get `+OK`, and a notification is an array of
 * blobs.
 */
const READ = /^(?!.*\r\nNOTIFY\r\n).*\$\d+\r\n[^\r\n]*\r\n$/s

/** Control over the messages from the store to a thermostat page. */
export interface Holding {
  /** From the next connection on, delivers this many responses to reads and holds back everything after them. */
  after(reads: number): void
}

/** Intercepts the connection between a page and the store. Must be called before the page loads. */
export async function holdBack(page: Page): Promise<Holding> {
  let maxReads = Number.POSITIVE_INFINITY
  await page.routeWebSocket(/\/store$/, near => {
    const far = near.connectToServer()
    let rest = Buffer.alloc(0)
    let readsLeft = maxReads
    near.onMessage(message => far.send(message))
    far.onMessage(message => {
      rest = Buffer.concat([rest, Buffer.from(message)])
      for (let end = packetEnd(rest); end !== undefined; end = packetEnd(rest)) {
        const packet = rest.subarray(0, end)
        rest = rest.subarray(end)
        if (readsLeft <= 0) continue
        near.send(packet)
        if ((packet[0] ?? 0) >> 4 === PUBLISH && READ.test(packet.toString('latin1'))) readsLeft--
      }
    })
  })
  return {
    after: reads => {
      maxReads = reads
    },
  }
}

/** Returns the end of the first packet if the packet is complete (MQTT 5.0, section 1.5.5). */
function packetEnd(bytes: Buffer): number | undefined {
  let length = 0
  for (let i = 1; i < Math.min(bytes.length, 5); i++) {
    const byte = bytes[i] ?? 0
    length += (byte & 127) * 128 ** (i - 1)
    if (byte < 128) return i + 1 + length <= bytes.length ? i + 1 + length : undefined
  }
  return undefined
}
