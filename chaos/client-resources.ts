import { MqttClient } from 'mqtt'
import type { Resources } from './resources.js'

/** The maximum timers and sockets per idle client in this process. A client with a link has three socket ends. */
const TIMERS_PER_CLIENT = 3
const SOCKETS_PER_CLIENT = 3
/** The maximum number of listeners on one MQTT client, for all events. */
const LISTENERS_PER_CLIENT = 12

/** All live MQTT clients. The library does not expose them. */
const clients: Set<WeakRef<MqttClient>> = new Set()

/** Tracks every MQTT client that is created after this call. */
export function trackClients() {
  const { reconnect } = MqttClient.prototype
  const known: WeakSet<MqttClient> = new WeakSet()
  MqttClient.prototype.reconnect = function (...args) {
    if (!known.has(this)) clients.add(new WeakRef(this))
    known.add(this)
    return Reflect.apply(reconnect, this, args)
  }
}

/**
 * Returns the resources that exceed the limits when all clients are connected and idle.
 *
 * @param count - number of the clients
 */
export function excessOf({ timers }: Resources, count: number) {
  const sockets = process.getActiveResourcesInfo().filter(name => name === 'TCPSocketWrap').length
  const listeners = Math.max(0, ...Array.from(clients, client => listenersOf(client.deref())))
  const excess = []
  if (timers > TIMERS_PER_CLIENT * count) excess.push(`${timers} timers for ${count} clients`)
  if (sockets > SOCKETS_PER_CLIENT * count) excess.push(`${sockets} sockets for ${count} clients`)
  if (listeners > LISTENERS_PER_CLIENT) excess.push(`${listeners} listeners on an MQTT client`)
  return excess
}

const listenersOf = (client: MqttClient | undefined) =>
  client?.eventNames().reduce((sum, name) => sum + client.listenerCount(name), 0) ?? 0
