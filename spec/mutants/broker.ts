import type { Mutants } from './mutant.js'

const SEND_AGAIN = 'item.delivery !== undefined && sender.publish(item.delivery, item.packetId, true)'
const DETACH = 'if (will) this.wills.publishOrDelay(connection, session, will)'

/** The mutants of the code that upholds the guarantees of the MQTT broker. */
export const broker: Mutants = {
  'src/server/broker/session/delivery-queue.ts': {
    'PUBREL is sent again': {
      seed: 299,
      code: "if (item.state === 'pubcomp') sender.pubrel(item.packetId)",
      becomes: "if (item.state === 'pubcomp') continue",
    },
    'unacknowledged messages are sent again': {
      seed: 9,
      code: SEND_AGAIN,
      becomes: 'item.delivery !== undefined',
    },
    'a message sent again has the DUP flag': {
      seed: 9,
      code: SEND_AGAIN,
      becomes: SEND_AGAIN.replace('true', 'false'),
    },
    'the receive maximum is respected': {
      seed: 36,
      code: 'this.#receiveMaximum = receiveMaximum',
      becomes: 'this.#receiveMaximum = 65_535',
    },
    'PUBREC is processed': {
      seed: 10,
      code: "if (item === undefined || item.qos !== 2 || item.state === 'resend') return false",
      becomes: 'return true',
    },
    'PUBACK acknowledges the packet that it names': {
      seed: 292,
      code: 'puback(packetId: number): boolean {',
      becomes: 'puback(packetId: number): boolean {\n    packetId = 1',
    },
    'the memory of a session is released': { seed: 7, code: 'this.#sessionUsage.clear()' },
  },
  'src/server/broker/session/session.ts': {
    'the packet id of a received QoS 2 message is remembered': {
      seed: 6,
      code: 'return this.#unreleasedIds?.has(packetId) ?? false',
      becomes: 'return false',
    },
    'a packet id is free after PUBREL': {
      seed: 10,
      code: 'if (!this.#unreleasedIds?.delete(packetId)) return false',
      becomes: 'return true',
    },
    'a message is queued for an offline session': {
      seed: 13,
      code: 'if (!this.isConnected && !this.isPersistent) return',
      becomes: 'if (!this.isConnected) return',
    },
    'an expired message is not sent': {
      seed: 11,
      code: 'this.deliveryQueue.deliver(delivery, this.isPersistent)',
      becomes: 'this.deliveryQueue.deliver({ ...delivery, expiresAt: undefined }, this.isPersistent)',
    },
  },
  'src/server/broker/routing/router.ts': {
    'no-local subscriptions do not receive messages of their own client': {
      seed: 19,
      code: 'route(message: Message, publisher: Subscriber | undefined): number {',
      becomes: 'route(message: Message, publisher: Subscriber | undefined): number {\n    publisher = undefined',
    },
    'UNSUBSCRIBE ends a subscription': {
      seed: 17,
      code: 'remove(subscription: Subscription): void {\n    const { filter } = subscription',
      becomes: 'remove({ filter }: Subscription): void {\n    return',
    },
    'one member of a shared subscription receives a message': {
      seed: 10,
      code: 'if (member) this.#deliverTo(message, member)',
      becomes: 'for (const each of [member, this.#nextReady()]) if (each) this.#deliverTo(message, each)',
    },
  },
  'src/server/broker/routing/retained-messages.ts': {
    'an empty retained message deletes the previous one': {
      seed: 4,
      code: 'delete(topic: string): void {',
      becomes: 'delete(topic: string): void {\n    return',
    },
  },
  'src/server/broker/session/packet-handler.ts': {
    'queued messages are sent when the client has read earlier ones': {
      seed: 9,
      code: 'if (this.#pendingDisconnect() === undefined && this.session.deliveryQueue.sendNext()) return true',
    },
  },
  'src/server/broker/session/packet-writer.ts': {
    'no packet exceeds the maximum of the client': {
      seed: 11,
      code: 'client.maximumPacketSize ?? Number.POSITIVE_INFINITY',
      becomes: 'Number.POSITIVE_INFINITY',
    },
  },
  'src/server/broker/session/keep-alive.ts': {
    'a connection that ends leaves no timer': {
      seed: 2,
      code: 'if (this.#deadline) this.#host.timeouts.remove(this.#deadline)',
    },
    'a silent client is disconnected': {
      seed: 6,
      code: 'if (limitMs === 0) return',
      becomes: 'this.#limitMs = 0\n    return',
    },
  },
  'src/server/broker/core/broker-core.ts': {
    'a clean start discards the session': {
      seed: 4,
      code: 'connect.cleanStart ? undefined : this.#sessions.get(clientId)',
      becomes: 'this.#sessions.get(clientId)',
    },
    'a persistent session outlives its connection': {
      seed: 3,
      code: 'session.expirySeconds = Math.min(connect.sessionExpiry, LIMIT.sessionExpirySeconds)',
      becomes: 'session.expirySeconds = 0',
    },
    'a session expires': {
      seed: 3,
      code: DETACH,
      becomes: `if (session.expirySeconds > 0) session.expirySeconds = 86_400\n    ${DETACH}`,
    },
  },
  'src/server/broker/session/wills.ts': {
    'a will is published': {
      seed: 4,
      code: 'if (this.#isClosed || handler.checkPublish(client, will)) return',
      becomes: 'return',
    },
    'a will waits for its delay': {
      seed: 4,
      code: 'if (delayMs > 0) this.#delay(client, session, will, delayMs)',
      becomes: 'if (delayMs < 0) this.#delay(client, session, will, delayMs)',
    },
  },
  'src/server/broker/session/connection.ts': {
    'a normal DISCONNECT discards the will': {
      seed: 11,
      code: 'this.#end(reasonCode === REASON.success ? undefined : this.#will)',
      becomes: 'this.#end(this.#will)',
    },
  },
}
