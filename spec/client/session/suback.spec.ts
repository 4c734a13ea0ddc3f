import { describe, expect, it, vi } from 'vitest'
import { connect } from '../../../src/client/index.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openClient, record } from '../../support/open-client.js'
import { CONNACK, type ScriptedBroker, scriptedBroker } from '../../support/scripted-broker.js'

describe('a missing SUBACK', () => {
  /** Starts a broker that accepts connections and sends nothing after CONNACK. */
  const silentBroker = async (): Promise<ScriptedBroker> => scriptedBroker(({ send }) => send(CONNACK))

  it('a client drops a connection without a SUBACK after a timeout, and retries', { tags: 'slow' }, async () => {
    const broker = await silentBroker()
    const clock = new ManualClock()
    const status = record(openClient(broker.url, { clock }).status$)
    await vi.waitFor(() => expect(broker.sides.length).toBe(1))
    await vi.waitFor(() => {
      clock.advance(1_000)
      expect(status.values.at(-1)?.state).toBe('reconnecting')
    })
    await vi.waitFor(() => {
      clock.advance(20)
      expect(broker.sides.length).toBe(2)
    })
  })

  it('a client drops a connection on which it gets nothing but responses to pings before the SUBACK', async () => {
    const broker = await scriptedBroker(({ send }) => send(CONNACK))
    const clock = new ManualClock()
    const status = record(openClient(broker.url, { clock }).status$)
    await vi.waitFor(() => expect(broker.sides.length).toBe(1))
    await vi.waitFor(() => {
      broker.sides[0]?.send({ cmd: 'pingresp' })
      clock.advance(5_000)
      expect(status.values.at(-1)?.state).toBe('reconnecting')
    })
  })

  it('a client without a SUBACK closes without delay', { tags: 'slow' }, async () => {
    const broker = await silentBroker()
    const client = connect(broker.url)
    await vi.waitFor(() => expect(broker.sides.length).toBe(1))
    const status = record(client.status$)
    await client.close()
    expect(status.values.at(-1)).toEqual({ state: 'closed', cause: undefined })
  })
})
