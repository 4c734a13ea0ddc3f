import type {
  ConnectionInfo,
  InboundMessage,
  MqttSession,
  OutboundRequest,
  SessionListener,
} from '../../src/client/session/session.js'
import { envelopeOf, PublishEncoder } from '../../src/core/mqtt5/publish-encoder.js'
import type { RequestRejectedError, StateStoreError } from '../../src/core/util/errors.js'

export interface Published {
  readonly request: OutboundRequest
  /** Sends the PUBACK. */
  readonly acknowledge: (refusal?: RequestRejectedError) => void
}

export const CONNECTION: ConnectionInfo = {
  sessionPresent: false,
  receiveMaximum: 65_535,
  maximumPacketSize: undefined,
  hasSubscriptionIds: true,
  hasWildcards: true,
  canRetain: true,
}

/** An MQTT session that a spec controls. It records sent messages and emits the spec's messages. */
export class FakeSession implements MqttSession {
  readonly clientId = 'client-id1'
  readonly isShared: boolean
  readonly published: Published[] = []
  readonly subscribed: string[][] = []
  /** The subscription identifier of the last SUBSCRIBE. */
  subscriptionId: number | undefined
  /** The reason codes of SUBACK, per filter. `undefined` withholds the SUBACK. */
  granted: readonly number[] | undefined = [1, 1]
  closed = 0
  verifications = 0
  received = 0
  #listener: SessionListener | undefined
  #subacks: ((reasonCodes: readonly number[]) => void)[] = []

  constructor(shared = false) {
    this.isShared = shared
  }

  open(listener: SessionListener): void {
    this.#listener = listener
  }

  sizeOf(request: OutboundRequest): number {
    return new PublishEncoder().sizeOf(request.topic, request, envelopeOf(1))
  }

  publish(request: OutboundRequest, done: (refusal: RequestRejectedError | undefined) => void): void {
    this.published.push({ request, acknowledge: refusal => done(refusal) })
  }

  subscribe(
    filters: readonly string[],
    subscriptionId: number | undefined,
    done: (reasonCodes: readonly number[]) => void,
  ): void {
    this.subscribed.push([...filters])
    this.subscriptionId = subscriptionId
    const { granted } = this
    if (granted) done(granted)
    else this.#subacks.push(reasonCodes => done(reasonCodes))
  }

  verifyConnection(): void {
    this.verifications++
  }

  close(): void {
    this.closed++
    this.#listener?.closed(undefined)
  }

  /** Sends the withheld SUBACK packets. */
  suback(reasonCodes: readonly number[] = [1, 1]): void {
    for (const send of this.#subacks.splice(0)) send(reasonCodes)
  }

  connect(info: Partial<ConnectionInfo> = {}): void {
    this.#listener?.connected({ ...CONNECTION, ...info })
  }

  disconnect(cause: StateStoreError): void {
    this.#listener?.disconnected(cause, { attempt: 1, at: 0 })
  }

  end(cause: StateStoreError): void {
    this.#listener?.closed(cause)
  }

  receive(
    topic: string,
    payload: Uint8Array,
    userProperties: InboundMessage['userProperties'] = {},
    correlationData?: Uint8Array,
    subscriptionIds: readonly number[] = [],
  ): void {
    this.#listener?.message({
      topic,
      payload,
      userProperties,
      correlationData,
      contentType: undefined,
      subscriptionIds,
    })
  }

  /** Responds to a published request. */
  reply(to: Published, payload: Uint8Array, userProperties: Record<string, string> = { __stat: '200' }): void {
    this.receive(to.request.responseTopic, payload, userProperties, to.request.correlationData)
  }

  /** Returns the published request number `index`. A negative index counts from the end. */
  at(index: number): Published {
    const found = this.published.at(index)
    if (found === undefined) throw new Error(`only ${this.published.length} requests were published`)
    return found
  }
}
