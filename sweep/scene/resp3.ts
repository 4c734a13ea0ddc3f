import { PROPERTY, properties, publish } from '../../harness/packets.js'
import { INVOKE_TOPIC, responseTopic } from '../../src/core/protocol/topics.js'

/** Encodes a RESP3 array of blob strings. */
export function command(...words: readonly (string | Uint8Array)[]): Buffer {
  const parts = words.map(word => Buffer.from(word))
  const pieces = parts.flatMap(part => [Buffer.from(`$${part.length}\r\n`), part, Buffer.from('\r\n')])
  return Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...pieces])
}

let counter = 0

/** Encodes a request to the store. */
export function request(clientId: string, payload: Uint8Array, id: number, ...more: readonly Uint8Array[]): Buffer {
  const own = properties(
    PROPERTY.responseTopic(responseTopic(clientId)),
    PROPERTY.correlationData(String(counter++)),
    PROPERTY.user('__ts', `${Date.now()}:0:${clientId}`),
    ...more,
  )
  return publish(INVOKE_TOPIC, payload, { qos: 1, id, properties: own })
}
