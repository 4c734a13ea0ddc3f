// Encodes the few MQTT 5 packets that a load generator needs (MQTT 5.0, sections 3.1, 3.3 and 3.8).

const INVOKE = 'statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke'

/** @param {string} clientId */
export const responseTopic = clientId => `clients/${clientId}/services/statestore/_any_/command/invoke/response`

/** The topics of a client's notifications. @param {string} clientId */
export const notificationFilter = clientId =>
  `clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/${Buffer.from(clientId).toString('hex').toUpperCase()}/command/notify/+`

/**
 * A packet that is sent many times. The packet id and the number of a key, if any, are at an offset and differ each
 * time.
 *
 * @typedef {{ bytes: Buffer, idAt?: number, numberAt?: number }} Template
 */

/** Number of digits of the number of a key. */
export const DIGITS = 7
const PLACEHOLDER = '#'.repeat(DIGITS)

/** Returns a key whose last part is replaced by a number. @param {string} prefix */
export const numbered = prefix => prefix + PLACEHOLDER

/** @param {number} number - up to 16,383 */
const length = number => (number < 128 ? Buffer.of(number) : Buffer.of((number & 127) | 128, number >> 7))

/** @param {string} value */
const text = value => Buffer.concat([Buffer.of(value.length >> 8, value.length & 255), Buffer.from(value)])

/** @param {number} header @param {readonly Uint8Array[]} parts */
function packet(header, parts) {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.of(header), length(body.length), body])
}

/** Encodes an empty property list, or nothing for MQTT 3.1.1, which has no properties. @param {4 | 5} version */
const noProperties = version => Buffer.alloc(version === 5 ? 1 : 0)

/** Encodes a CONNECT with clean start and without keep-alive. @param {string} clientId @param {4 | 5} version */
export const connectPacket = (clientId, version = 5) =>
  packet(0x10, [text('MQTT'), Buffer.of(version, 2, 0, 0), noProperties(version), text(clientId)])

/**
 * Encodes a SUBSCRIBE. With QoS 0, messages need no acknowledgements.
 *
 * @param {string} filter @param {0 | 1} qos @param {4 | 5} version
 */
export const subscribePacket = (filter, qos = 0, version = 5) =>
  packet(0x82, [Buffer.of(0, 1), noProperties(version), text(filter), Buffer.of(qos)])

/**
 * Encodes a PUBLISH.
 *
 * @param {string} topic
 * @param {0 | 1} qos
 * @param {Uint8Array} payload
 * @param {4 | 5} version
 * @returns {Template}
 */
export function publishPacket(topic, qos, payload, version) {
  const head = [text(topic), Buffer.alloc(2 * qos), noProperties(version)]
  const bytes = packet(0x30 | (qos << 1), [...head, payload])
  return qos === 0 ? { bytes } : { bytes, idAt: bytes.indexOf(topic) + topic.length }
}

/**
 * Encodes a request to the store.
 *
 * @param {string} clientId
 * @param {readonly string[]} command
 * @returns {Template}
 */
export function requestPacket(clientId, command) {
  const properties = Buffer.concat([
    Buffer.of(0x08),
    text(responseTopic(clientId)),
    Buffer.of(0x09, 0, 16),
    Buffer.alloc(16),
    Buffer.of(0x26),
    text('__ts'),
    text(`${Date.now()}:0:bench`),
  ])
  const payload = [`*${command.length}\r\n`, ...command.map(word => `$${word.length}\r\n${word}\r\n`)].join('')
  const topic = text(INVOKE)
  const body = [topic, Buffer.of(0, 1), length(properties.length), properties, Buffer.from(payload)]
  const bytes = packet(0x32, body)
  const numberAt = bytes.indexOf(PLACEHOLDER)
  return { bytes, idAt: bytes.indexOf(topic) + topic.length, ...(numberAt >= 0 && { numberAt }) }
}
