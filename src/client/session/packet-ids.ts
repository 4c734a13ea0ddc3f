import type { IClientOptions } from 'mqtt'
import type { MqttJsClient } from './mqttjs-client.js'
import { isOutgoing } from './mqttjs-internals.js'

/** Packet ids for PUBLISH, which have 16 bits and are not zero (MQTT 5.0, section 2.2.1). */
export interface PacketIds {
  /** Returns a free id, or `undefined` if all ids are in use. */
  allocate(): number | undefined
  release(id: number): void
}

const MAX_PACKET_ID = 65_535
/** The first of the ids that mqtt.js uses, for SUBSCRIBE. */
const FIRST_MQTTJS_ID = 64_512

export const MAX_OWN_IDS = FIRST_MQTTJS_ID - 1

/**
 * Ids for an owned connection, below the ids of {@link mqttJsPacketIds}. Reuses released ids first, which keeps the ids
 * small.
 */
export class OwnPacketIds implements PacketIds {
  readonly #free: number[] = []
  #next = 1

  allocate(): number | undefined {
    return this.#free.pop() ?? (this.#next < FIRST_MQTTJS_ID ? this.#next++ : undefined)
  }

  release(id: number): void {
    this.#free.push(id)
  }
}

export function mqttJsPacketIds(): NonNullable<IClientOptions['messageIdProvider']> {
  let last = MAX_PACKET_ID
  return {
    allocate: () => {
      last = last === MAX_PACKET_ID ? FIRST_MQTTJS_ID : last + 1
      return last
    },
    getLastAllocated: () => last,
    register: () => true,
    deallocate: () => undefined,
    clear: () => undefined,
  }
}

/** Ids for a caller's connection. mqtt.js cycles through all ids, and the ones in use are skipped. */
export class SharedPacketIds implements PacketIds {
  readonly #client: MqttJsClient
  readonly #used = new Set<number>()

  constructor(client: MqttJsClient) {
    this.#client = client
  }

  allocate(): number | undefined {
    const { messageIdProvider } = this.#client
    for (let tried = 0; tried < MAX_PACKET_ID; tried++) {
      const id = messageIdProvider.allocate()
      if (id === null) return undefined
      if (this.#used.has(id) || isOutgoing(this.#client, id)) continue
      this.#used.add(id)
      return id
    }
    return undefined
  }

  release(id: number): void {
    this.#used.delete(id)
    this.#client.messageIdProvider.deallocate(id)
  }
}
