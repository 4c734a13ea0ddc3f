import { MqttClient } from 'mqtt'

/** The maximum growth in bytes of the heap after garbage collection, from the first quarter of a run to its end. */
export const HEAP_BOUND = 4 * 1024 * 1024
/** The maximum timers and sockets per idle client in this process. A client with a link has three socket ends. */
const TIMERS_PER_CLIENT = 3
const SOCKETS_PER_CLIENT = 3
/** The maximum number of listeners on one MQTT client, for all events. */
const LISTENERS_PER_CLIENT = 12

export type Resources = { heap: number; timers: number; sockets: number; listeners: number }

/** All live MQTT clients. The library does not expose them. */
const clients: Set<WeakRef<MqttClient>> = new Set()

/** Tracks every MQTT client that is created after this call. */
export function watchClients() {
  const { reconnect } = MqttClient.prototype
  const known: WeakSet<MqttClient> = new WeakSet()
  MqttClient.prototype.reconnect = function (...args) {
    if (!known.has(this)) clients.add(new WeakRef(this))
    known.add(this)
    return Reflect.apply(reconnect, this, args)
  }
}

/** Returns the resources of this process after garbage collection. */
export function resourcesNow(): Resources {
  for (let round = 0; round < 3; round++) global.gc?.()
  const active = process.getActiveResourcesInfo()
  const count = (type: string) => active.filter(name => name === type).length
  return {
    heap: process.memoryUsage().heapUsed,
    timers: count('Timeout'),
    sockets: count('TCPSocketWrap'),
    listeners: Math.max(0, ...liveClients().map(listenersOf)),
  }
}

/**
 * Returns the resources that exceed the limits when all clients are connected and idle.
 *
 * @param count - number of the clients
 */
export function excessOf({ timers, sockets, listeners }: Resources, count: number) {
  const excess = []
  if (timers > TIMERS_PER_CLIENT * count) excess.push(`${timers} timers for ${count} clients`)
  if (sockets > SOCKETS_PER_CLIENT * count) excess.push(`${sockets} sockets for ${count} clients`)
  if (listeners > LISTENERS_PER_CLIENT) excess.push(`${listeners} listeners on an MQTT client`)
  return excess
}

/** Returns the resources that keep this process alive and did not exist before. */
export function remainingResources(before: readonly string[]) {
  const left = process.getActiveResourcesInfo()
  for (const name of before) {
    const index = left.indexOf(name)
    if (index >= 0) left.splice(index, 1)
  }
  return left
}

function liveClients() {
  return Array.from(clients, reference => reference.deref()).filter(client => client !== undefined)
}

const listenersOf = (emitter: MqttClient) =>
  emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name), 0)
