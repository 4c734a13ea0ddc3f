import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { BrokerCore } from '../../../../src/server/broker/core/broker-core.js'
import { LIMIT } from '../../../../src/server/broker/limits/limits.js'
import { SocketLink } from '../../../../src/server/broker/transport/socket-link.js'
import { ManualClock } from '../../../support/manual-clock.js'
import { openHandler } from '../../../support/open-broker.js'
import { bytesOf } from '../../../support/packets.js'
import { openTurnScheduler } from '../../../support/turn-scheduler.js'

const turn = (): Promise<void> => new Promise(resolve => setImmediate(() => setImmediate(resolve)))
const CONNECT = bytesOf({
  cmd: 'connect',
  clientId: 'ann',
  protocolId: 'MQTT',
  protocolVersion: 5,
  clean: true,
  keepalive: 0,
})
const publish = (payload: string) => bytesOf({ cmd: 'publish', topic: 'a', payload, qos: 0, dup: false, retain: false })
const CONNACK = 0x20
const DISCONNECT = 0xe0
const PINGRESP = Buffer.of(0xd0, 0)

function setUp(memoryBudget = 1e9) {
  const clock = new ManualClock()
  const options = { clock, maximumPacketSize: 10_000_000, maxKeepAliveSeconds: 0, memoryBudget }
  const handled: string[] = []
  const core = new BrokerCore(options, {
    ...openHandler,
    topic: 'a',
    handlePublish: (_, { payload }) => handled.push(new TextDecoder().decode(payload)) === 0,
  })
  const written: Uint8Array[] = []
  const stream = new Duplex({
    read: () => undefined,
    write: (chunk, _encoding, done) => {
      written.push(chunk)
      done()
    },
  })
  const socket = new Socket()
  onTestFinished(() => {
    stream.destroy()
    socket.destroy()
  })
  const { budget, accounts, traffic, timeouts, maximumPacketSize } = core
  const link = new SocketLink(
    { stream, socket },
    {
      clock,
      budget,
      accounts,
      traffic,
      timeouts,
      maximumPacketSize,
      scheduler: openTurnScheduler(clock),
    },
  )
  link.attach(core.accept(link))
  const receive = async (...chunks: Uint8Array[]): Promise<void> => {
    for (const chunk of chunks) stream.push(chunk)
    await turn()
  }
  const writtenTypes = (): (number | undefined)[] => written.map(([first]) => first)
  return { clock, core, link, stream, receive, written, writtenTypes, handled }
}

describe('SocketLink', () => {
  it('the link splits received data into packets regardless of chunk boundaries', async () => {
    const { receive, writtenTypes, handled } = setUp()
    const bytes = Buffer.concat([CONNECT, publish('1'), publish('22')])
    for (const byte of bytes) await receive(Uint8Array.of(byte))
    await receive(Buffer.concat([publish('3'), publish('4')]))
    expect(writtenTypes()).toEqual([CONNACK])
    expect(handled).toEqual(['1', '22', '3', '4'])
  })

  it('the link closes the connection of a client that does not complete a packet', async () => {
    const { receive, clock, stream, core } = setUp()
    await receive(CONNECT, publish('12345').subarray(0, 4))
    clock.advance(LIMIT.packetTimeoutMs - 1)
    expect(stream.destroyed).toBe(false)
    clock.advance(1)
    expect(stream.destroyed).toBe(true)
    await turn()
    expect([core.connectionCount, core.budget.used, clock.pending]).toEqual([0, 0, 0])
  })

  it('the link applies the deadline to each packet separately', async () => {
    const { receive, clock, stream, handled } = setUp()
    await receive(CONNECT)
    const [head, tail] = [publish('12345').subarray(0, 4), publish('12345').subarray(4)]
    for (let i = 0; i < 3; i++) {
      await receive(head)
      clock.advance(LIMIT.packetTimeoutMs - 1)
      await receive(tail)
    }
    expect(stream.destroyed).toBe(false)
    expect(handled).toHaveLength(3)
  })

  it('the link extends the deadline of a large packet while data keeps arriving', async () => {
    const { receive, clock, stream } = setUp()
    const bytes = publish('x'.repeat(4_000_000))
    await receive(CONNECT, bytes.subarray(0, 2_000_000))
    clock.advance(LIMIT.packetTimeoutMs)
    expect(stream.destroyed).toBe(false)
    clock.advance(2_000_000 / LIMIT.packetBytesPerMs)
    expect(stream.destroyed).toBe(true)
  })

  it('incomplete packets are charged, and the limit closes the link and frees memory', async () => {
    const { receive, core, clock, writtenTypes } = setUp(300_000)
    await receive(CONNECT, publish('x'.repeat(1_000_000)).subarray(0, 200_000))
    expect(core.budget.used).toBeGreaterThanOrEqual(200_000)
    await receive(new Uint8Array(200_000))
    clock.advance(0)
    expect(core.budget.used).toBeLessThan(200)
    await turn()
    expect(writtenTypes()).toEqual([CONNACK, DISCONNECT])
  })

  it('data that waits for the client is held, data being processed is not', async () => {
    const { receive, core, link } = setUp()
    await receive(CONNECT)
    const bytes = publish('x'.repeat(500_000))
    let held = -1
    const handlePublish = core.handler.handlePublish
    core.handler.handlePublish = (...message) => {
      held = link.heldBytes
      return handlePublish(...message)
    }
    await receive(bytes.subarray(0, 400_000))
    expect(link.heldBytes).toBeGreaterThanOrEqual(400_000)
    await receive(bytes.subarray(400_000))
    expect([held, link.heldBytes]).toEqual([0, 0])
  })

  it('the link reads at most one chunk ahead while it sends retained messages', async () => {
    const { receive, core, clock, stream, written } = setUp()
    await receive(CONNECT)
    const content = { payload: new Uint8Array(1), userProperties: {} }
    core.retainedMessages = function* () {
      for (;;) {
        // Each message takes a whole slice.
        clock.advance(100)
        yield { topic: 'b', content, qos: 0, retain: true, expiresAt: undefined }
      }
    }
    await receive(bytesOf({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'b', qos: 0 }] }))
    const pings = Buffer.alloc(2_000, bytesOf({ cmd: 'pingreq' }))
    for (let n = 0; n < 10; n++) stream.push(pings)
    expect(stream.readableLength).toBe(9 * pings.length)
    await turn()
    expect(Buffer.concat(written).includes(PINGRESP)).toBe(true)
  })

  it('the link processes acknowledgements of a client that has not read all messages', async () => {
    const { receive, core, link, stream } = setUp()
    await receive(
      CONNECT,
      bytesOf({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: '$share/g/b', qos: 1 }] }),
    )
    stream.cork()
    const content = { payload: new Uint8Array(500_000), userProperties: {} }
    for (let n = 0; n < 5; n++)
      core.publish({ topic: 'b', content, qos: 1, retain: false, expiresAt: undefined }, undefined)
    expect(link.unsentBytes).toBeGreaterThan(LIMIT.readPauseBytes)
    const before = core.gauges().storedMessages
    await receive(Buffer.of(0x40, 2, 0, 1))
    expect([before, core.gauges().storedMessages]).toEqual([5, 4])
  })

  it('a link that an eviction destroys holds no memory, not even for unsent data', async () => {
    const { receive, core, link, stream } = setUp()
    await receive(CONNECT, publish('x'.repeat(500_000)).subarray(0, 400_000))
    stream.cork()
    for (let n = 0; n < 3; n++) link.write(new Uint8Array(500_000))
    expect(link.heldBytes).toBeGreaterThanOrEqual(1_900_000)
    link.destroy()
    expect([link.heldBytes, core.budget.used]).toEqual([0, 0])
  })

  it('the link processes packets that arrived before the client closed its side', async () => {
    const { receive, stream, handled, core } = setUp()
    stream.push(Buffer.concat([CONNECT, publish('1'), publish('2')]))
    stream.push(null)
    await receive()
    expect(handled).toEqual(['1', '2'])
    expect(core.connectionCount).toBe(0)
  })

  it('the link releases all memory when the network fails at any point', async () => {
    const { receive, stream, core, clock } = setUp()
    await receive(CONNECT, publish('1'.repeat(1_000)).subarray(0, 500))
    stream.destroy(new Error('ECONNRESET'))
    await turn()
    expect([core.connectionCount, core.sessionCount, core.budget.used, clock.pending]).toEqual([0, 0, 0, 0])
  })

  it('the link destroys a connection if the client does not close its side in time', async () => {
    const { receive, stream, clock } = setUp()
    await receive(CONNECT, CONNECT)
    expect(stream.destroyed).toBe(false)
    clock.advance(LIMIT.closeTimeoutMs)
    expect(stream.destroyed).toBe(true)
  })
})
