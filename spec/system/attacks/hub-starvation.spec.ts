import { afterAll, beforeAll, describe, it } from 'vitest'
import { webSocketFrame } from '../../../harness/web-socket.js'
import { nightly } from '../../support/effort.js'
import { jsonFrame, PROTOBUF_SUBPROTOCOL, protobufFrame, repeated } from './support/hub-frames.js'
import { type HubScene, prepareHubScenes, startHubScene } from './support/hub-scene.js'

prepareHubScenes()

let scene: HubScene
beforeAll(async () => {
  scene = await startHubScene()
})
afterAll(async () => scene.end())

/** The duration of a flood, in ms. */
const FLOOD_MS = nightly(5_000, 1_200)
const CONNECTIONS = 8
const KIB = 1024

const MEMBERS = Array.from({ length: 100_000 }, (_, n) => `"${n.toString(36)}":0`).join(',')
const PING_FRAGMENTS = [
  webSocketFrame(Buffer.from('{"type":"ping"'), 1, false),
  ...Array.from({ length: 500 }, () => webSocketFrame(Buffer.alloc(0), 0, false)),
  webSocketFrame(Buffer.from('}'), 0),
]

describe('a flood from a user without rights', () => {
  it.each<[string, Buffer, string | undefined]>([
    ['acknowledgements in JSON', jsonFrame({ type: 'sequenceAck', sequenceId: 0 }), undefined],
    ['acknowledgements in protobuf', protobufFrame('42 02 08 00'), PROTOBUF_SUBPROTOCOL],
    ['pings in JSON', jsonFrame({ type: 'ping' }), undefined],
    ['pings in protobuf', protobufFrame('4a 00'), PROTOBUF_SUBPROTOCOL],
    ['pings in 500 fragments', Buffer.concat(PING_FRAGMENTS), undefined],
    ['WebSocket pings', webSocketFrame(Buffer.alloc(0), 9), undefined],
    ['joins that are rejected', jsonFrame({ type: 'joinGroup', group: 'g', ackId: 1 }), undefined],
    ['pings of a megabyte with 100,000 members', jsonFrame(`{"type":"ping",${MEMBERS}}`), undefined],
    [
      'events of a megabyte with 100,000 members',
      jsonFrame(`{"type":"event","event":"e","data":{${MEMBERS}}}`),
      undefined,
    ],
    ['pings of a megabyte of spaces', jsonFrame(`{"type":"ping"${' '.repeat(1_000_000)}}`), undefined],
  ])('the flood does not starve members: %s', async (name, frame, subprotocol) => {
    await scene.runAttack(async () => {
      // Each flood has a different user, because the hub slows down a user for some time after a flood.
      const login = { user: name, ...(subprotocol !== undefined && { subprotocol }) }
      const attackers = await scene.connectAll(CONNECTIONS, () => login)
      await scene.flood(attackers, repeated(frame, 256 * KIB), FLOOD_MS)
    })
  })
})
