import { MqttClient } from 'mqtt'

/** After garbage collection, the heap may have grown so much from the first quarter to the end, bytes. */
export const HEAP_BOUND = 4 * 1024 * 1024
/** Timers and sockets in this process for each client when all is quiet: a cabled client has three ends of sockets. */
const TIMERS_PER_CLIENT = 3
const SOCKETS_PER_CLIENT = 3
/** Listeners that hang on one MQTT client, for all its events. */
const LISTENERS_PER_CLIENT = 12

export type Resources = { heap: number; timers: number; sockets: number; listeners: number }

/** MQTT clients that were ever dialled and still live: they are private to the library. */
const clients: Set<WeakRef<MqttClient>> = new Set()

/** Notes every MQTT client from now on. */
export function watchClients() {
  const { reconnect } = MqttClient.prototype
  const known: WeakSet<MqttClient> = new WeakSet()
  MqttClient.prototype.reconnect = function (...args) {
    if (!known.has(this)) clients.add(new WeakRef(this))
    known.add(this)
    return Reflect.apply(reconnect, this, args)
  }
}

/** What this process holds, after garbage collection. */
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
 * What is held beyond the bounds, when all is quiet and every client is connected.
 *
 * @param count - of clients
 */
export function excessOf({ timers, sockets, listeners }: Resources, count: number) {
  const excess = []
  if (timers > TIMERS_PER_CLIENT * count) excess.push(`${timers} timers for ${count} clients`)
  if (sockets > SOCKETS_PER_CLIENT * count) excess.push(`${sockets} sockets for ${count} clients`)
  if (listeners > LISTENERS_PER_CLIENT) excess.push(`${listeners} listeners on an MQTT client`)
  return excess
}

/** Resources that keep this process alive and were not there before. */
export function leftOver(before: readonly string[]) {
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
