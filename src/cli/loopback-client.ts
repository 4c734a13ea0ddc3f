import { filter, Observable, Subject, take } from 'rxjs'
import { ClosedError, RequestRejectedError, type StateStoreError } from '../client/index.js'
import type { InboundMessage, ServiceSession } from '../client/session/session.js'
import { FIRST_FAILURE } from '../core/mqtt5/reason-codes.js'
import { sameBytes } from '../core/util/bytes.js'

/** An MQTT client that receives its own messages. */
export class LoopbackClient {
  readonly #session: ServiceSession
  readonly #message$ = new Subject<InboundMessage>()
  readonly #closed: Promise<void>
  #resolveClosed: () => void = () => undefined

  constructor(session: ServiceSession) {
    this.#session = session
    this.#closed = new Promise(resolve => {
      this.#resolveClosed = resolve
    })
  }

  /**
   * Resolves when the client is connected. Rejects if the broker refuses the client.
   *
   * @param onRetry - called with the cause of each failed attempt
   */
  connect(onRetry: (cause: StateStoreError) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      let isConnected = false
      this.#session.open({
        connected: () => {
          isConnected = true
          resolve()
        },
        disconnected: cause => {
          if (isConnected) this.#message$.error(cause)
          else onRetry(cause)
        },
        // An end-to-end check ends before its credentials expire.
        failed: () => undefined,
        closed: (cause = new ClosedError()) => {
          this.#resolveClosed()
          reject(cause)
          this.#message$.error(cause)
        },
        message: message => {
          const { packetId, qos } = message
          if (qos === 1 && packetId !== undefined) this.#session.acknowledge(packetId)
          this.#message$.next(message)
        },
      })
    })
  }

  /**
   * Subscribes to a topic, publishes a message there, and emits the message when it returns. Errors if the broker
   * rejects either, and if the connection is lost.
   */
  roundTrip(topic: string, payload: Uint8Array): Observable<unknown> {
    return new Observable(subscriber => {
      const returned$ = this.#message$.pipe(
        filter(message => message.topic === topic && sameBytes(message.payload, payload)),
        take(1),
      )
      const subscription = returned$.subscribe(subscriber)
      this.#session.subscribe([topic], undefined, ([reasonCode = FIRST_FAILURE]) => {
        if (reasonCode >= FIRST_FAILURE)
          subscriber.error(new RequestRejectedError(reasonCode, `The broker rejected the subscription to ${topic}`))
        else
          this.#session.publish({ topic, payload, userProperties: {} }, refusal => {
            if (refusal !== undefined) subscriber.error(refusal)
          })
      })
      return subscription
    })
  }

  /** Disconnects. Resolves when the connection has ended. */
  close(): Promise<void> {
    this.#session.close()
    return this.#closed
  }
}
