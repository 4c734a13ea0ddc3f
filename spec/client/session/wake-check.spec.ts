import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openSession } from '../../../src/client/session/open-session.js'
import { eventually } from '../../support/eventually.js'
import { ManualClock } from '../../support/manual-clock.js'
import { bytesOf } from '../../support/packets.js'
import { type BrokerSide, CONNACK, scriptedBroker } from '../../support/scripted-broker.js'

const PINGRESP = bytesOf({ cmd: 'pingresp' })
const MESSAGE = bytesOf({
  cmd: 'publish',
  topic: 'a',
  payload: 'x'.repeat(900),
  qos: 0,
  dup: false,
  retain: false,
})

/** Opens a session at a broker that responds to nothing after CONNACK. */
async function openIdle(connectTimeout = 10_000) {
  const sides: BrokerSide[] = []
  let pings = 0
  const broker = await scriptedBroker(
    side => {
      sides.push(side)
      side.send(CONNACK)
    },
    (_side, packet) => {
      if (packet.cmd === 'pingreq') pings++
    },
  )
  const clock = new ManualClock()
  const session = openSession(
    {
      urls: [broker.url],
      clientId: 'own',
      cleanStart: false,
      keepAlive: 60_000,
      sessionExpiry: 60_000,
      connectTimeout,
      maximumPacketSize: 1_000_000,
    },
    { strategy: () => 0, credentials: undefined },
    clock,
  )
  onTestFinished(() => session.close())
  const seen = { isConnected: false, losses: 0 }
  session.open({
    connected: () => {
      seen.isConnected = true
    },
    disconnected: () => {
      seen.losses++
    },
    failed: () => undefined,
    closed: () => undefined,
    message: () => undefined,
  })
  await eventually(() => seen.isConnected)
  /** Sleeps for an hour, wakes up, and waits for the ping. */
  const wake = async (): Promise<void> => {
    const before = pings
    clock.jump(3_600_000)
    clock.advance(5_000)
    await eventually(() => pings > before)
  }
  const send = async (bytes: Uint8Array): Promise<void> => {
    const expected = (session.received ?? 0) + bytes.length
    sides.at(-1)?.socket.write(bytes)
    await eventually(() => session.received === expected)
  }
  return { clock, seen, session, wake, send }
}

describe('the check of a connection after system sleep', () => {
  it('a connection on which a part of a large message arrives is kept', async () => {
    const { clock, seen, wake, send } = await openIdle()
    await wake()
    await send(MESSAGE.subarray(0, 100))
    clock.advance(3_000)
    await send(MESSAGE.subarray(100))
    expect(seen.losses).toBe(0)
  })

  it('a connection without a response is dropped after 3 s', async () => {
    const { clock, seen, wake } = await openIdle()
    await wake()
    clock.advance(2_999)
    expect(seen.losses).toBe(0)
    clock.advance(1)
    await eventually(() => seen.losses === 1)
  })

  it('with a longer connectTimeout, the response may take longer', async () => {
    const { clock, seen, wake, send } = await openIdle(60_000)
    await wake()
    clock.advance(17_999)
    await send(PINGRESP)
    clock.advance(1)
    expect(seen.losses).toBe(0)
  })

  it('many checks leave no listeners and no timers', async () => {
    const emitWarning = vi.spyOn(process, 'emitWarning')
    onTestFinished(() => emitWarning.mockRestore())
    const { clock, wake, send } = await openIdle()
    const { pending } = clock
    for (let i = 0; i < 15; i++) {
      await wake()
      expect(clock.pending).toBe(pending + 1)
      await send(PINGRESP)
      clock.advance(5_000)
      expect(clock.pending).toBe(pending)
    }
    expect(emitWarning).not.toHaveBeenCalled()
  })

  it('a session that is closed ends its check', async () => {
    const { clock, session, wake } = await openIdle()
    await wake()
    session.close()
    await eventually(() => clock.pending === 0)
  })
})
