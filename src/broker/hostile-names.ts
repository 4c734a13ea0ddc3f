import { EventEmitter } from 'node:events'
import type { Aedes, Client } from 'aedes'

/**
 * An object without a prototype: aedes looks up client ids and topics in objects, where `constructor` would be there
 * without anybody having put it.
 */
export const dictionary = (): Record<string, unknown> => Object.create(null)

/** A filter that aedes refuses (MQTT 5.0, section 4.7.1). */
const NO_FILTER = 'a#'

/** Keeps client ids that every JavaScript object has as a property from ending the process. */
export const guardClientIds = (aedes: Aedes): void => void Object.assign(aedes, { clients: dictionary() })

/**
 * Keeps topics that every JavaScript object has as a property from ending the process.
 *
 * @param subscriptions - where aedes is to keep those of the client
 */
export function guardTopics(client: Client, subscriptions: object): void {
  Object.assign(client, { subscriptions, duplicates: dictionary() })
  const parser: unknown = Reflect.get(client, '_parser')
  if (!(parser instanceof EventEmitter)) throw new Error('aedes has no parser')
  parser.prependListener('packet', refusePrototype)
}

// aedes sorts the filters of one SUBSCRIBE into an object, whose prototype this name would replace.
function refusePrototype(packet: { readonly cmd: string; readonly subscriptions?: { topic: string }[] }): void {
  if (packet.cmd !== 'subscribe') return
  for (const subscription of packet.subscriptions ?? []) {
    if (subscription.topic === '__proto__') subscription.topic = NO_FILTER
  }
}
