import type { Mutants } from './mutant.js'

const SEND_AGAIN = 'item.delivery !== undefined && sender.publish(item.delivery, item.packetId, true)'
const LEAVE = 'const delay = 1000 * Math.min(will?.delay ?? 0, session.expiry)'

/** What keeps the promises of the MQTT broker. */
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
      code: "if (item === undefined || item.qos !== 2 || item.state === 'turn') return false",
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
      code: 'return this.#received?.has(packetId) ?? false',
      becomes: 'return false',
    },
    'a packet id is free after PUBREL': {
      seed: 10,
      code: 'if (!this.#received?.delete(packetId)) return false',
      becomes: 'return true',
    },
    'a message is queued for an offline session': {
      seed: 13,
      code: 'if (!this.connected && !this.lasting) return',
      becomes: 'if (!this.connected) return',
    },
    'a message expires': {
      seed: 11,
      code: 'this.outbox.deliver(delivery, this.lasting)',
      becomes: 'this.outbox.deliver({ ...delivery, expiresAt: undefined }, this.lasting)',
    },
  },
  'src/server/broker/routing/router.ts': {
    'no-local subscriptions do not receive own messages': {
      seed: 19,
      code: 'route(message: Message, from: Subscriber | undefined): number {',
      becomes: 'route(message: Message, from: Subscriber | undefined): number {\n    from = undefined',
    },
    'a subscription ends': {
      seed: 17,
      code: 'remove(subscription: Subscription): void {\n    const { filter } = subscription',
      becomes: 'remove({ filter }: Subscription): void {\n    return',
    },
    'one member of a shared subscription receives a message': {
      seed: 10,
      code: 'if (member) this.#hand(message, member)',
      becomes: 'for (const each of [member, this.#takeTurn()]) if (each) this.#hand(message, each)',
    },
  },
  'src/server/broker/routing/retained.ts': {
    'a retained message is deleted': {
      seed: 4,
      code: 'delete(topic: string): void {',
      becomes: 'delete(topic: string): void {\n    return',
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
      code: 'if (limit === 0) return',
      becomes: 'this.#limit = 0\n    return',
    },
  },
  'src/server/broker/core/broker-core.ts': {
    'a clean start discards the session': {
      seed: 4,
      code: 'connect.cleanStart ? undefined : this.#sessions.get(clientId)',
      becomes: 'this.#sessions.get(clientId)',
    },
    'a session is kept': {
      seed: 3,
      code: 'session.expiry = Math.min(connect.sessionExpiry, LIMIT.sessionExpiry)',
      becomes: 'session.expiry = 0',
    },
    'a session expires': {
      seed: 3,
      code: LEAVE,
      becomes: `if (session.expiry > 0) session.expiry = 86_400\n    ${LEAVE}`,
    },
    'a will is published': {
      seed: 4,
      code: 'if (this.#closing || this.handler.refuse(client, will)) return',
      becomes: 'return',
    },
    'a will waits for its delay': { seed: 4, code: LEAVE, becomes: 'const delay = 0' },
  },
  'src/server/broker/session/connection.ts': {
    'a normal DISCONNECT discards the will': {
      seed: 11,
      code: 'this.#leave(withWill ? this.#will : undefined)',
      becomes: 'this.#leave(this.#will)',
    },
  },
}
