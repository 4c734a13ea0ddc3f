import { replaceMethod } from './replace-method.js'

/** Most messages and bytes that wait for one session's acknowledgement. */
export const MOST_QUEUED_MESSAGES = 10_000
export const MOST_QUEUED_BYTES = 8 * 1024 * 1024

interface Queued {
  readonly topic: string
  readonly payload: { readonly length: number }
}

/** What a packet costs besides its topic and payload, bytes. */
const OVERHEAD = 200

/**
 * Bounds what aedes keeps for sessions: a client that never acknowledges, or never comes back, would fill the memory.
 * What is over the bound is not kept, and `overflow` is told the client id.
 *
 * @param persistence - of aedes, whose methods are replaced
 */
export function boundSessions(persistence: object, overflow: (clientId: string) => void): void {
  const queues = new Map<string, { messages: number; bytes: number }>()

  const admit = (clientId: string, packet: Queued): boolean => {
    const queue = queues.get(clientId) ?? { messages: 0, bytes: 0 }
    if (queue.messages >= MOST_QUEUED_MESSAGES || queue.bytes >= MOST_QUEUED_BYTES) {
      overflow(clientId)
      return false
    }
    queues.set(clientId, { messages: queue.messages + 1, bytes: queue.bytes + sizeOf(packet.topic, packet.payload) })
    return true
  }
  const release = (clientId: string, packet: Queued): void => {
    const queue = queues.get(clientId)
    if (queue === undefined) return
    if (queue.messages === 1) queues.delete(clientId)
    else
      queues.set(clientId, { messages: queue.messages - 1, bytes: queue.bytes - sizeOf(packet.topic, packet.payload) })
  }

  replaceMethod(persistence, 'outgoingEnqueue', enqueue => async (sub: { clientId: string }, packet: Queued) => {
    if (admit(sub.clientId, packet)) await enqueue(sub, packet)
  })
  replaceMethod(
    persistence,
    'outgoingEnqueueCombi',
    enqueue => async (subs: { clientId: string }[], packet: Queued) => {
      await enqueue(
        subs.filter(({ clientId }) => admit(clientId, packet)),
        packet,
      )
    },
  )
  replaceMethod(persistence, 'outgoingClearMessageId', clear => async (client: { id: string }, packet: unknown) => {
    const cleared = await clear(client, packet)
    if (isQueued(cleared)) release(client.id, cleared)
    return cleared
  })
}

/** What a message counts, bytes. */
export const sizeOf = (topic: string, payload: { readonly length: number }): number =>
  topic.length + payload.length + OVERHEAD

const isQueued = (packet: unknown): packet is Queued =>
  typeof packet === 'object' && packet !== null && 'topic' in packet && 'payload' in packet
