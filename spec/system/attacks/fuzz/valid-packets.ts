import type { Random } from '../../../../harness/random.js'
import { INVOKE_TOPIC } from '../../../../src/core/protocol/topics.js'
import { toHex, utf8 } from '../../../../src/core/util/bytes.js'
import {
  connect,
  disconnect,
  PINGREQ,
  PROPERTY,
  packet,
  properties,
  publish,
  subscribe,
  text,
  uint16,
} from '../../../support/packets.js'
import { notificationTopicOf, responseTopicOf } from '../../../support/topics.js'
import { resp3 } from '../../../support/words.js'

// There are only a few client ids, so that sessions take each other over and find earlier state.
const CLIENTS = 400
const NAMES = 12

const name = (random: Random): string => `fuzz/${random.int(1, NAMES)}`
const payload = (random: Random): Buffer => Buffer.alloc(random.pick([0, 1, 20, 300]), 'payload ')
const qos = (random: Random): 0 | 1 | 2 => random.pick([0, 1, 2])
const id = (random: Random): number => random.int(1, 20)

const some = (random: Random, all: readonly Buffer[]): Buffer => properties(...all.filter(() => random.chance(0.3)))

export const clientIdOf = (random: Random): string => `fuzz-${random.int(1, CLIENTS)}`

/** Returns a CONNECT with random valid content. */
export function validConnect(random: Random, clientId: string): Buffer {
  const own = some(random, [
    PROPERTY.sessionExpiry(random.pick([0, 1, 60])),
    PROPERTY.receiveMaximum(random.pick([1, 10, 65_535])),
    PROPERTY.user('a', 'b'),
  ])
  const about = [PROPERTY.willDelay(random.int(0, 1)), PROPERTY.messageExpiry(1), PROPERTY.correlationData('c')]
  const will = { topic: name(random), payload: payload(random), properties: some(random, about) }
  const version = random.chance(0.1) ? 4 : 5
  return connect(clientId, { clean: random.chance(0.7), properties: own, version, ...(random.chance(0.2) && { will }) })
}

function message(random: Random): Buffer {
  const own = [
    PROPERTY.payloadFormat(1),
    PROPERTY.messageExpiry(random.int(0, 5)),
    PROPERTY.contentType('text/plain'),
    PROPERTY.responseTopic(name(random)),
    PROPERTY.correlationData('correlation'),
    PROPERTY.topicAlias(random.int(1, 20)),
    PROPERTY.user('name', 'value'),
    PROPERTY.user('name', 'other'),
  ]
  const how = { qos: qos(random), retain: random.chance(0.03), id: id(random), properties: some(random, own) }
  return publish(name(random), payload(random), how)
}

function storeRequest(random: Random, clientId: string): Buffer {
  const key = name(random)
  const words = random.pick([
    ['SET', key, 'value'],
    ['SET', key, 'value', 'NX', 'PX', '1000'],
    ['GET', key],
    ['DEL', key],
    ['VDEL', key, 'value'],
    ['KEYNOTIFY', key],
    ['KEYNOTIFY', key, 'STOP'],
    ['GLOBNOTIFY', key],
    ['GLOBNOTIFY', key, 'STOP'],
    ['SCAN', 'fuzz/*'],
  ])
  const own = properties(
    PROPERTY.responseTopic(responseTopicOf(clientId)),
    PROPERTY.correlationData('c'),
    PROPERTY.user('__ts', `${Date.now()}:0:fuzz`),
  )
  return publish(INVOKE_TOPIC, resp3(words), { qos: 1, id: id(random), properties: own })
}

function subscription(random: Random, clientId: string): Buffer {
  const filters = [
    name(random),
    // These filters are rare, because each message to these subscriptions costs time.
    ...['fuzz/#', 'fuzz/+', '#'].filter(() => random.chance(0.05)),
    `$share/group/${name(random)}`,
    responseTopicOf(clientId),
    notificationTopicOf(clientId),
    `clients/statestore/v1/x/${toHex(utf8(clientId))}/#`,
  ]
  return subscribe(
    filters.filter(() => random.chance(0.3)).concat(name(random)),
    id(random),
    qos(random) | (random.int(0, 2) << 4),
  )
}

/** Returns a packet that is valid after CONNECT. */
export function validPacket(random: Random, clientId: string): Buffer {
  const kind = random.int(1, 20)
  if (kind <= 6) return message(random)
  if (kind <= 11) return storeRequest(random, clientId)
  if (kind <= 14) return subscription(random, clientId)
  if (kind === 15) return packet(0xa2, uint16(id(random)), properties(), text(name(random)))
  if (kind === 16) return PINGREQ
  if (kind === 17) return packet(random.pick([0x40, 0x50, 0x62, 0x70]), uint16(id(random)))
  if (kind === 18) return packet(random.pick([0x40, 0x50, 0x62, 0x70]), uint16(id(random)), Buffer.of(0), properties())
  if (kind === 19) return packet(0x62, uint16(id(random)))
  return random.chance(0.3) ? disconnect(PROPERTY.sessionExpiry(random.int(0, 60))) : packet(0xf0, Buffer.of(0x18, 0))
}
