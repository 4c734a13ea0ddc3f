import type { Page } from 'playwright-core'

/** The first byte of what a WebSocket carries for MQTT: a PUBLISH, with whatever flags (MQTT 5.0, section 2.1.1). */
const PUBLISH = 3
/** What answers to a read end with: a blob of RESP3. Those to registrations are `+OK`; a notification is an array of blobs. */
const READ = /^(?!.*\r\nNOTIFY\r\n).*\$\d+\r\n[^\r\n]*\r\n$/s

/** What a page of the thermostat hears of the store. */
export interface Holding {
  /** From the next connection on lets so many answers to reads through, and holds back all that comes after. */
  after(reads: number): void
}

/** Comes between a page and the store; to be called before the page is loaded. */
export async function holdBack(page: Page): Promise<Holding> {
  let most = Number.POSITIVE_INFINITY
  await page.routeWebSocket(/\/store$/, near => {
    const far = near.connectToServer()
    let rest = Buffer.alloc(0)
    let left = most
    near.onMessage(message => far.send(message))
    far.onMessage(message => {
      rest = Buffer.concat([rest, Buffer.from(message)])
      for (let end = packetEnd(rest); end !== undefined; end = packetEnd(rest)) {
        const packet = rest.subarray(0, end)
        rest = rest.subarray(end)
        if (left <= 0) continue
        near.send(packet)
        if ((packet[0] ?? 0) >> 4 === PUBLISH && READ.test(packet.toString('latin1'))) left--
      }
    })
  })
  return {
    after: reads => {
      most = reads
    },
  }
}

/** Where the first packet ends, if it is whole (MQTT 5.0, section 1.5.5). */
function packetEnd(bytes: Buffer): number | undefined {
  let length = 0
  for (let i = 1; i < Math.min(bytes.length, 5); i++) {
    const byte = bytes[i] ?? 0
    length += (byte & 127) * 128 ** (i - 1)
    if (byte < 128) return i + 1 + length <= bytes.length ? i + 1 + length : undefined
  }
  return undefined
}
