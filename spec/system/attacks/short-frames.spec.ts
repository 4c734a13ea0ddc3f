import { describe, expect, it } from 'vitest'
import { UPGRADE } from '../../../harness/web-socket.js'
import { acknowledge, connect, publish, subscribe } from '../../support/packets.js'
import type { RawSocket } from '../../support/raw-socket.js'
import { FramePayloadReader } from './fuzz/wire.js'
import { openScene, prepareScenes } from './support/scene.js'

prepareScenes()

/** A binary WebSocket frame of a client, masked with zeros (RFC 6455, section 5.2). */
const frame = (payload: Buffer): Buffer => Buffer.concat([Buffer.of(0x82, 0x80 | payload.length, 0, 0, 0, 0), payload])

const MESSAGES = 20_000
const BATCH = 500

/** Acknowledges each QoS 1 message in a separate frame, as clients do. Returns after `count` messages. */
async function acknowledgeAll(reader: RawSocket, count: number): Promise<number> {
  const frames = new FramePayloadReader()
  let answered = 0
  let rest = Buffer.alloc(0)
  // The upgrade response may have arrived together with the first message or before it.
  const head = reader.last.indexOf('\r\n\r\n')
  const first = head < 0 ? 0 : head + 4
  return new Promise(resolve => {
    const read = (data: Buffer): void => {
      let bytes = Buffer.concat([rest, ...frames.read(data)])
      while (bytes.length > 1 && bytes.length >= 2 + (bytes[1] ?? 0)) {
        const end = 2 + (bytes[1] ?? 0)
        if (bytes[0] === 0x32) {
          reader.socket.write(frame(acknowledge(bytes.readUInt16BE(5))))
          answered++
        }
        bytes = bytes.subarray(end)
      }
      rest = Buffer.from(bytes)
      if (answered >= count) resolve(answered)
    }
    read(reader.last.subarray(first))
    reader.socket.on('data', read)
    reader.socket.once('close', () => resolve(answered))
  })
}

describe('a client with short WebSocket frames', () => {
  it('a client that acknowledges in short WebSocket frames is not treated as an attacker', {
    timeout: 60_000,
  }, async () => {
    const scene = await openScene()
    await scene.runAttack(
      async () => {
        const reader = await scene.open(scene.store.addresses.wsUrl)
        await reader.send(Buffer.from(UPGRADE))
        await reader.hears()
        await reader.send(frame(connect('reader')), frame(subscribe(['news'], 1, 1)))
        await reader.hears()
        const answered = acknowledgeAll(reader, MESSAGES)
        const writer = await scene.connect('writer')
        for (let sent = 0; sent < MESSAGES && !reader.ended; sent += BATCH) {
          const news = Array.from({ length: BATCH }, (_, n) => publish('news', Buffer.of(1), { qos: 1, id: n + 1 }))
          await writer.send(Buffer.concat(news))
          await writer.settled()
        }
        expect(await answered).toBe(MESSAGES)
      },
      { mustComplete: true },
    )
  })
})
