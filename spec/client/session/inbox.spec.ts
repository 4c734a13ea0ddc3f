import { beforeEach, describe, expect, it } from 'vitest'
import { Inbox } from '../../../src/client/session/inbox.js'
import { concatBytes, fromUtf8, utf8 } from '../../../src/core/util/bytes.js'
import { publishPacket } from '../../support/own-room.js'
import { bytesOf } from '../../support/packets.js'

const CONNACK = bytesOf({ cmd: 'connack', reasonCode: 0, sessionPresent: true })
const PINGRESP = bytesOf({ cmd: 'pingresp' })
const publish = (payload: string, packetId = 7): Uint8Array =>
  publishPacket({ topic: 't', payload: utf8(payload), userProperties: {} }, packetId)

/** A stream that records the chunks that reach its reader. */
class Stream {
  readonly pushed: unknown[] = []
  full = false
  push(chunk: unknown): boolean {
    this.pushed.push(chunk)
    return !this.full
  }
}

describe('the inbox', () => {
  let events: string[]
  let stream: Stream
  let inbox: Inbox

  beforeEach(() => {
    events = []
    stream = new Stream()
    inbox = new Inbox(
      {
        published: ({ payload, packetId }) => events.push(`${packetId}: ${fromUtf8(payload)}`),
        acknowledged: (packetId, reasonCode) => {
          if (packetId > 10) return false
          events.push(`puback ${packetId}, ${reasonCode}`)
          return true
        },
        unreadable: ({ message }) => events.push(message),
      },
      1_000_000,
    )
    inbox.attach(stream)
  })

  const connected = (): void => {
    stream.push(CONNACK)
    inbox.releaseHeld()
    stream.pushed.length = 0
  }

  it('consumes messages and acknowledgements, and passes on other packets', () => {
    connected()
    stream.push(concatBytes([publish('a'), PINGRESP, publish('b', 0), bytesOf({ cmd: 'puback', messageId: 3 })]))
    expect(events).toEqual(['7: a', '0: b', 'puback 3, 0'])
    expect(concatBytes(stream.pushed.filter(chunk => chunk instanceof Uint8Array))).toEqual(Uint8Array.from(PINGRESP))
  })

  it('holds packets that arrive with CONNACK until CONNACK is processed', () => {
    const [first, second] = [publish('first'), publish('second')]
    const network = Buffer.from(concatBytes([CONNACK, first]))
    stream.push(network)
    network.fill(0, CONNACK.length)
    stream.push(second)
    expect([events, stream.pushed.length]).toEqual([[], 1])
    inbox.releaseHeld()
    expect(events).toEqual(['7: first', '7: second'])
  })

  it.each([
    ['a reason', { cmd: 'puback', messageId: 3, reasonCode: 135 }, 'puback 3, 135'],
    [
      'a reason and properties that make it long',
      { cmd: 'puback', messageId: 3, reasonCode: 151, properties: { reasonString: 'x'.repeat(200) } },
      'puback 3, 151',
    ],
  ] as const)('reads an acknowledgement with %s', (_name, packet, expected) => {
    connected()
    stream.push(bytesOf(packet))
    expect(events).toEqual([expected])
  })

  it.each([
    ['an acknowledgement for another publisher', bytesOf({ cmd: 'puback', messageId: 11 })],
    ['an acknowledgement without an id', new Uint8Array([0x40, 1, 0])],
    ['a malformed message', new Uint8Array([0x32, 2, 0, 9])],
  ])('passes %s to mqtt.js', (_name, bytes) => {
    connected()
    stream.push(bytes)
    expect(events).toEqual([])
    expect(stream.pushed.map(chunk => chunk instanceof Uint8Array && [...chunk])).toEqual([[...bytes]])
  })

  it('a message with a topic alias that was not granted stops the inbox from reading the stream', () => {
    connected()
    stream.push(new Uint8Array([0x30, 6, 0, 0, 3, 0x23, 0, 1]))
    stream.push(publish('later'))
    expect(events).toEqual(['the broker used the topic alias 1, but none was granted'])
    expect(stream.pushed).toEqual([])
  })

  it("a consumed chunk reports free space, and a passed chunk returns the stream's result", () => {
    connected()
    stream.full = true
    expect([stream.push(publish('a')), stream.push(PINGRESP)]).toEqual([true, false])
  })

  it('passes on the end of the stream', () => {
    connected()
    stream.push(null)
    expect(stream.pushed).toEqual([null])
  })

  it('starts with empty state on the stream of the next connection', () => {
    connected()
    const half = publish('lost').slice(0, 5)
    stream.push(half)
    const next = new Stream()
    inbox.attach(next)
    next.push(concatBytes([CONNACK, publish('new')]))
    stream.push(publish('old'))
    inbox.releaseHeld()
    expect(events).toEqual(['7: new'])
    expect(stream.pushed).toHaveLength(1)
  })

  it('leaves streams of other kinds to mqtt.js', () => {
    expect(() => inbox.attach({})).not.toThrow()
    expect(() => inbox.releaseHeld()).not.toThrow()
  })
})
