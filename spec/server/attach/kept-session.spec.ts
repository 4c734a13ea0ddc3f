import { randomUUID } from 'node:crypto'
import type { Packet } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { openAttached, untilState } from '../../support/open-attached.js'
import { type BrokerSide, CONNACK, grant, scriptedBroker } from '../../support/scripted-broker.js'

const LIFE_TOPIC = 'rx-statestore/v1/life'
const NO_MATCHING_SUBSCRIBERS = 16

// HiveMQ CE delivers nothing more in a session whose in-flight messages expired during an interruption.
describe('a store whose broker does not deliver messages in the resumed session', () => {
  const broker = async (clientId: string, delivers: (side: BrokerSide) => boolean) =>
    scriptedBroker(
      ({ connect, send }) =>
        send({ ...CONNACK, sessionPresent: connect.clean === false && connect.clientId === clientId }),
      (side: BrokerSide, packet: Packet) => {
        grant(side, packet)
        if (packet.cmd !== 'publish') return
        const isLife = packet.topic === LIFE_TOPIC
        side.send({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: isLife ? 0 : NO_MATCHING_SUBSCRIBERS })
        if (isLife && delivers(side)) side.send({ ...packet, messageId: 1 })
      },
    )

  it('a missing own announcement starts a new session with a new instance id', {
    tags: 'slow',
  }, async () => {
    const clientId = `store-${randomUUID()}`
    const { url, sides } = await broker(clientId, ({ connect }) => connect.clean === true)
    const store = await openAttached(url, { clientId })
    const first = store.state
    await untilState(store, 'reconnecting')
    await untilState(store, 'serving')
    expect(store.state).not.toEqual(first)
    expect(sides.filter(({ connect }) => connect.clientId === clientId).map(({ connect }) => connect.clean)).toEqual([
      false,
      true,
    ])
  })
})
