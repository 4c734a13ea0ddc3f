import { AddressRotation } from '../../../src/client/session/addresses.js'
import type { MqttSession, OutboundRequest, SessionListener } from '../../../src/client/session/session.js'
import { PROPERTY } from '../../../src/core/protocol/properties.js'
import {
  ConnectionLostError,
  ConnectionRefusedError,
  type RequestRejectedError,
} from '../../../src/core/util/errors.js'
import type { SimBroker } from './broker.js'
import type { ClientEnd, OutgoingMessage, Setting } from './connection.js'
import { Wire } from './network.js'

export interface SessionOptions {
  readonly clientId: string
  readonly keepSession: boolean
  readonly cleanStart: boolean
  /** Whether the connection belongs to the caller and outlives the client. */
  readonly shared?: boolean | undefined
  /** Runs tasks of the client's process, immediately unless the process is frozen. */
  readonly run: (task: () => void) => void
}

/** The timeout of an attempt to connect to an address that never answers, in milliseconds. */
const ATTEMPT_TIMEOUT_MS = 1_500

/** The MQTT client of a simulation. It reconnects automatically but does not resend messages. */
export class SimSession implements MqttSession {
  readonly clientId: string
  readonly isShared: boolean
  readonly #brokers: ReadonlyMap<string, SimBroker>
  readonly #addressRotation: AddressRotation
  readonly #setting: Setting
  readonly #options: SessionOptions
  #listener: SessionListener | undefined
  #end: ClientEnd | undefined
  #attempt = 0
  #reachableAt = 0
  readonly #filters = new Set<string>()
  #isUp = false
  delivering: OutgoingMessage | undefined
  /** Whether the broker kept no session of an earlier connection. */
  isNewSession = false
  /** Whether a message without its subscription identifier arrived on this connection. */
  lacksIdentifiers = false
  readonly notified = new Set<string>()

  constructor(brokers: SimBroker | readonly SimBroker[], setting: Setting, options: SessionOptions) {
    this.clientId = options.clientId
    this.isShared = options.shared ?? false
    this.#brokers = new Map([brokers].flat().map((broker, i) => [`mqtt://node${i}`, broker]))
    this.#addressRotation = new AddressRotation(Array.from(this.#brokers.keys()), setting.random.next)
    this.#setting = setting
    this.#options = options
  }

  get url(): string {
    return this.#addressRotation.current
  }

  get #broker(): SimBroker {
    const broker = this.#brokers.get(this.#addressRotation.current)
    if (broker === undefined) throw new Error('no such node')
    return broker
  }

  open(listener: SessionListener): void {
    this.#listener = listener
    if (this.#end === undefined) this.#connect()
    // The session state of an existing connection is unknown.
    else if (this.#isUp) this.#notifyConnected(true)
  }

  sizeOf(): number {
    return 0
  }

  publish(request: OutboundRequest, done: (refusal: RequestRejectedError | undefined) => void): void {
    const end = this.#end
    const broker = this.#broker
    end?.wire.up(() => broker.publish(end, request, () => this.#while(end, () => done(undefined))))
  }

  subscribe(
    filters: readonly string[],
    subscriptionId: number | undefined,
    done: (reasonCodes: readonly number[]) => void,
  ): void {
    const end = this.#end
    for (const filter of filters) this.#filters.add(filter)
    const answered = (reasonCodes: readonly number[]): void => this.#while(end, () => done(reasonCodes))
    const broker = this.#broker
    end?.wire.up(() => broker.subscribe(end, filters, subscriptionId, answered))
  }

  verifyConnection(): void {}

  close(): void {
    const end = this.#end
    const filters = Array.from(this.#filters)
    const broker = this.#broker
    if (this.isShared) end?.wire.up(() => broker.unsubscribe(end, filters))
    else {
      this.#end = undefined
      end?.wire.cut()
      if (end) broker.lost(end)
    }
    const listener = this.#listener
    this.#listener = undefined
    listener?.closed(undefined)
  }

  /** Cuts the connection. Both sides notice the cut independently. */
  cut(): void {
    const end = this.#end
    if (end === undefined || !end.wire.alive) return
    end.wire.cut()
    const { time, random, conditions } = this.#setting
    const broker = this.#broker
    time.after(random.int(0, conditions.notice), () => broker.lost(end))
    time.after(random.int(0, Math.min(conditions.notice, 200)), () => this.#options.run(() => this.#lost(end)))
  }

  /** Cuts the connection, and makes all attempts to connect fail for a while. */
  goAway(duration: number): void {
    this.#reachableAt = Math.max(this.#reachableAt, this.#setting.time.now + duration)
    this.cut()
  }

  move(): void {
    const end = this.#end
    if (end === undefined || !end.wire.alive) return
    end.wire.cut()
    this.#broker.lost(end)
    this.#options.run(() => this.#lost(end, true))
  }

  /** Runs a task in the client's process, unless the connection is lost by then. */
  #while(end: ClientEnd | undefined, task: () => void): void {
    this.#options.run(() => {
      if (this.#end === end) task()
    })
  }

  #connect(): void {
    const { time, random, conditions } = this.#setting
    const wire = new Wire(time, random, conditions)
    const end: ClientEnd = {
      clientId: this.clientId,
      wire,
      keepSession: this.#options.keepSession,
      deliver: delivered => this.#options.run(() => this.#deliver(end, delivered)),
      onTakeover: () => this.#takenOver(end),
    }
    this.#end = end
    this.#isUp = false
    if (time.now < this.#reachableAt) wire.cut()
    const broker = this.#broker
    if (broker.isHanging) {
      time.after(ATTEMPT_TIMEOUT_MS, () => this.#options.run(() => this.#lost(end)))
      return
    }
    const moved = this.#addressRotation.isAddressChanged
    wire.up(() => {
      const sessionPresent = broker.connect(end, this.#options.cleanStart || moved)
      if (sessionPresent === undefined) wire.cut()
      else wire.down(() => this.#options.run(() => this.#connected(end, sessionPresent)))
    })
    // The client abandons a hanging attempt, and notices that a broker went down.
    const watchdog = (): void => {
      if (this.#end !== end) return
      if (wire.alive) time.after(500, () => this.#options.run(watchdog))
      else this.#lost(end)
    }
    time.after(500, () => this.#options.run(watchdog))
  }

  #connected(end: ClientEnd, sessionPresent: boolean): void {
    if (this.#end !== end) return
    this.#attempt = 0
    this.#isUp = true
    this.#addressRotation.markConnected()
    this.#notifyConnected(sessionPresent)
  }

  #notifyConnected(sessionPresent: boolean): void {
    this.isNewSession = !sessionPresent
    this.lacksIdentifiers = false
    this.notified.clear()
    const limits = { receiveMaximum: 20, maximumPacketSize: undefined }
    this.#listener?.connected({
      sessionPresent,
      hasSubscriptionIds: true,
      hasWildcards: true,
      canRetain: true,
      ...limits,
    })
  }

  #deliver(end: ClientEnd, delivered: OutgoingMessage): void {
    if (this.#end !== end) return
    this.delivering = delivered
    this.lacksIdentifiers ||= delivered.message.subscriptionIds.length === 0
    const { correlationData, userProperties } = delivered.message
    if (correlationData === undefined) this.notified.add(String(userProperties[PROPERTY.timestamp]))
    this.#listener?.message(delivered.message)
    this.delivering = undefined
  }

  #lost(end: ClientEnd, isRedirected = !this.#isUp): void {
    if (this.#end !== end || (this.#listener === undefined && !this.isShared)) return
    this.#end = undefined
    if (isRedirected) this.#addressRotation.next()
    const { time, random } = this.#setting
    const delay = random.int(10, 400)
    this.#listener?.disconnected(new ConnectionLostError(), { attempt: ++this.#attempt, at: time.now + delay })
    const retry = (): void => {
      if (this.#end === undefined && (this.#listener || this.isShared)) this.#connect()
    }
    time.after(delay, () => this.#options.run(retry))
  }

  #takenOver(end: ClientEnd): void {
    end.wire.cut()
    this.#options.run(() => this.#giveUp(end))
  }

  #giveUp(end: ClientEnd): void {
    if (this.#end !== end || this.#listener === undefined) return
    this.#end = undefined
    const listener = this.#listener
    this.#listener = undefined
    listener.closed(new ConnectionRefusedError('session taken over', 142))
  }
}
