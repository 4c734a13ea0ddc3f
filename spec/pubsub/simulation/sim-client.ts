import type { Observable, Subscription } from 'rxjs'
import { backoff } from '../../../src/core/util/backoff.js'
import type { PubSubStatus, SendResult } from '../../../src/pubsub/client/events.js'
import { StateStoreError } from '../../../src/pubsub/client/index.js'
import { PubSubClient } from '../../../src/pubsub/client/pubsub-client.js'
import type { Socket, SocketHandlers } from '../../../src/pubsub/client/ws-socket.js'
import { jsonClientCodec } from '../../../src/pubsub/wire/json-client-codec.js'
import { protobufClientCodec } from '../../../src/pubsub/wire/protobuf-client-codec.js'
import { EventLoop, type ResumeOrder } from '../../simulation/worlds/event-loop.js'
import { DeliveryChecker } from './delivery-checker.js'
import type { Ledger, SentMessage } from './ledger.js'
import { LinkChecker } from './link-checker.js'
import type { SimulationContext } from './pipe.js'
import { type ClientPlan, FAULT_PERIOD_MS, HIDDEN_TIMER_PERIOD_MS } from './schedule.js'
import type { SimHub } from './sim-hub.js'
import { Wire } from './wire.js'

/** The time at which the network works again, in ms. */
const FAULTS_END_MS = FAULT_PERIOD_MS + 100
/** Enough time for a recovery, in ms. */
const RECOVERY_TIME_MS = 3_000

export interface ClientEnvironment {
  readonly context: SimulationContext
  readonly hub: SimHub
  readonly ledger: Ledger
}

interface Subscribed {
  readonly checker: DeliveryChecker
  readonly subscription: Subscription
}

/** The shipped client with a simulated socket and clock, and with checkers of everything it reports. */
export class SimClient {
  readonly name: string
  readonly loop: EventLoop
  closed = false
  /** The latest connection. */
  wire: Wire | undefined
  readonly #plan: ClientPlan
  readonly #environment: ClientEnvironment
  readonly #client: PubSubClient
  readonly #groups = new Map<string, Subscribed>()
  readonly #serverMessages: DeliveryChecker
  readonly #checkers: DeliveryChecker[] = []
  readonly #linkChecker: LinkChecker
  #status: PubSubStatus = { state: 'connecting' }
  #recoveringSince = 0
  /** The id of the latest session. */
  #session: string | undefined
  /** The times at which sessions were lost, in ms. */
  readonly #losses: number[] = []

  constructor(name: string, plan: ClientPlan, environment: ClientEnvironment) {
    const { context, ledger } = environment
    this.name = name
    this.#plan = plan
    this.#environment = environment
    this.loop = new EventLoop(context.time, 0)
    if (plan.isHidden) this.loop.hide(HIDDEN_TIMER_PERIOD_MS)
    // A hidden page probes a silent link at one run of its timers, and drops a dead one at the next.
    const noticeMs = plan.keepAlive + (plan.isHidden ? 2 * HIDDEN_TIMER_PERIOD_MS : 0)
    this.#linkChecker = new LinkChecker(context, environment.hub, noticeMs, what => ledger.complain(`${name} ${what}`))
    const pause = (attempt: number): number => backoff(attempt, { initial: 50, max: 1_000 })
    this.#client = new PubSubClient({
      ...plan,
      url: `ws://hub/client/hubs/h?user=${name}`,
      codec: plan.protocol === 'json' ? jsonClientCodec : protobufClientCodec,
      clock: this.loop.clock(),
      openSocket: (url, _subprotocol, handlers) => this.#open(url, handlers),
      maxQueued: 10_000,
      retries: 3,
      pause,
      recoveryPause: pause,
      reconnectStrategy: attempt => (attempt === 1 ? 0 : pause(attempt - 1)),
    })
    this.#serverMessages = new DeliveryChecker(ledger, name, undefined, 0)
    this.#client.status$.subscribe(status => this.#note(status))
    this.#client.errors$.subscribe(({ code, message }) => {
      // A join or a leave may time out and is then retried.
      if (code !== 'timeout' && code !== 'outcome-unknown') ledger.complain(`${name} reports ${message}`)
    })
    this.#client.serverMessages$.subscribe(message => this.#serverMessages.onMessage(message, this.#session ?? ''))
  }

  /**
   * The id of the current session, if the client is connected. At a hub that answers no probes, each silence ends in a
   * recovery.
   */
  get connectionId(): string | undefined {
    const { state } = this.#status
    const isIn = state === 'connected' || (state === 'recovering' && this.#environment.hub.signs === 'none')
    return isIn ? this.#session : undefined
  }

  get wantedGroups(): readonly string[] {
    return Array.from(this.#groups.keys())
  }

  join(group: string): void {
    if (this.closed || this.#groups.has(group)) return
    const { ledger, context } = this.#environment
    const checker = new DeliveryChecker(ledger, this.name, group, context.time.now)
    this.#checkers.push(checker)
    const { messages$, gaps$ } = this.#client.group(group)
    const subscription = gaps$.subscribe(() => checker.onGap())
    const error = (cause: unknown): void => ledger.complain(`${this.name} cannot be in ${group}: ${cause}`)
    subscription.add(messages$.subscribe({ next: message => checker.onMessage(message, this.#session ?? ''), error }))
    this.#groups.set(group, { checker, subscription })
  }

  leave(group: string): void {
    this.#groups.get(group)?.subscription.unsubscribe()
    this.#groups.delete(group)
  }

  send(group: string, how: SentMessage['how']): void {
    const id = this.#environment.ledger.nextId()
    const options = { noEcho: how === 'noEcho', atLeastOnce: how === 'atLeastOnce', ack: how !== 'noAck' }
    this.#follow(this.#client.group(group).send(id, options), { id, kind: 'message', how })
  }

  sendEvent(): void {
    const id = this.#environment.ledger.nextId()
    this.#follow(this.#client.sendEvent('e', id), { id, kind: 'event', how: 'plain' })
  }

  freeze(duration: number, first: ResumeOrder): void {
    if (!this.loop.isFrozen) this.#linkChecker.onFrozen(duration)
    this.loop.freeze(duration, first)
  }

  close(): void {
    this.closed = true
    this.loop.show()
    void this.#client.close()
    this.#groups.clear()
  }

  /** Checks the client at the end, while it is connected or after it was closed. */
  judge(): void {
    this.#linkChecker.judge()
    const lasting = new Set(Array.from(this.#groups.values(), ({ checker }) => checker))
    if (!this.closed) lasting.add(this.#serverMessages)
    for (const checker of [...this.#checkers, this.#serverMessages]) {
      checker.judge(lasting.has(checker) ? this.connectionId : undefined, this.#losses.length)
    }
  }

  #open(url: string, handlers: SocketHandlers): Socket {
    const { context, hub } = this.#environment
    const { opened, message, closed } = handlers
    const own: SocketHandlers = {
      opened: () => this.loop.run(() => opened()),
      message: data =>
        this.loop.run(() => {
          this.#linkChecker.onFrame()
          message(data)
        }),
      closed: (code, reason) =>
        this.loop.run(() => {
          if (!wire.near.isClosing) this.#linkChecker.onClosed(code)
          closed(code, reason)
        }),
    }
    const wire = new Wire(context, own)
    this.wire = wire
    this.#linkChecker.opened(wire)
    const { random, conditions } = context
    if (random.chance(conditions.hanging)) wire.silence('both')
    else if (random.chance(conditions.refused)) wire.cut()
    else wire.up.push(() => hub.accept(wire, url, this.#plan.protocol))
    return wire.near
  }

  #follow(result: Observable<SendResult>, what: Pick<SentMessage, 'id' | 'kind' | 'how'>): void {
    const { context, ledger } = this.#environment
    const sent: SentMessage = { ...what, sender: this.name, outcome: 'pending', isExcused: () => false }
    ledger.sent.set(sent.id, sent)
    const since = context.time.now
    result.subscribe({
      next: () => {
        sent.outcome = 'acked'
      },
      error: error => {
        sent.outcome = error instanceof StateStoreError ? error.code : String(error)
        const { now } = context.time
        const isOver = this.closed || now - since >= this.#plan.timeout
        sent.isExcused = () => isOver || this.#losses.some(at => since <= at && at <= now)
      },
    })
  }

  /** Checks that the client recovers a session that the hub still has, once the network works. */
  #judgeLoss(session: string): void {
    const { hub, ledger } = this.#environment
    if (
      this.#recoveringSince < FAULTS_END_MS ||
      this.#plan.recoveryWindow < RECOVERY_TIME_MS ||
      !hub.hasSession(session)
    )
      return
    ledger.complain(`${this.name} gave up session ${Number(session)}, which the hub has`)
  }

  #note(status: PubSubStatus): void {
    const former = this.#status
    this.#status = status
    this.#linkChecker.note(status)
    if (status.state === 'recovering' && former.state !== 'recovering') {
      this.#recoveringSince = this.#environment.context.time.now
    }
    if (status.state === 'disconnected' && this.#session !== undefined) {
      this.#judgeLoss(this.#session)
      this.#losses.push(this.#environment.context.time.now)
      this.#session = undefined
    }
    if (status.state !== 'connected') return
    if (this.#session !== undefined && this.#session !== status.connectionId) {
      this.#environment.ledger.complain(`${this.name} was ${former.state} and is in another session, unannounced`)
    }
    this.#session = status.connectionId
  }
}
