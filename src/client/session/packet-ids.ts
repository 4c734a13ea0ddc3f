import type { IClientOptions } from 'mqtt'
import type { MqttJsClient } from './mqttjs-client.js'
import { isOutgoing } from './mqttjs-insides.js'

/** Packet ids for PUBLISH: 16 bits and not zero (MQTT 5.0, section 2.2.1). */
export interface PacketIds {
  /** An id that is not in use; `undefined` when all are. */
  allocate(): number | undefined
  release(id: number): void
}

const MOST_IDS = 65_535
/** From here on ids are left to mqtt.js, which subscribes. */
const FIRST_OTHER = 64_512

/** As many may be in use. */
export const MOST_OWN_IDS = FIRST_OTHER - 1

/** Ids of a connection of our own, in which {@link otherIds} are mqtt.js's: always small ones, used again at once. */
export class OwnPacketIds implements PacketIds {
  readonly #free: number[] = []
  #next = 1

  allocate(): number | undefined {
    return this.#free.pop() ?? (this.#next < FIRST_OTHER ? this.#next++ : undefined)
  }

  release(id: number): void {
    this.#free.push(id)
  }
}

/** Gives mqtt.js the ids that {@link OwnPacketIds} leaves. */
export function otherIds(): NonNullable<IClientOptions['messageIdProvider']> {
  let last = MOST_IDS
  return {
    allocate: () => {
      last = last === MOST_IDS ? FIRST_OTHER : last + 1
      return last
    },
    getLastAllocated: () => last,
    register: () => true,
    deallocate: () => undefined,
    clear: () => undefined,
  }
}

/** Ids of somebody else's connection: mqtt.js goes round and round through its own, past those that are in use. */
export class SharedPacketIds implements PacketIds {
  readonly #client: MqttJsClient
  readonly #used = new Set<number>()

  constructor(client: MqttJsClient) {
    this.#client = client
  }

  allocate(): number | undefined {
    const { messageIdProvider } = this.#client
    for (let tried = 0; tried < MOST_IDS; tried++) {
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
