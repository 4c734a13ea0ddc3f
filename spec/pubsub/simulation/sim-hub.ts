import { PROBE_GROUP } from '../../../src/pubsub/client/client-link.js'
import type { EventRequest } from '../../../src/pubsub/hub/event-queue.js'
import { readHandshake } from '../../../src/pubsub/hub/handshake.js'
import { HubEngine, type HubEngineOptions } from '../../../src/pubsub/hub/hub-engine.js'
import { CLOSE } from '../../../src/pubsub/hub/hub-link.js'
import type { HubSession } from '../../../src/pubsub/hub/hub-session.js'
import type { SessionClaim } from '../../../src/pubsub/hub/identity.js'
import { type DataFrame, SharedCodec } from '../../../src/pubsub/hub/shared-codec.js'
import type { FrameData } from '../../../src/pubsub/wire/frames.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { protobufHubCodec } from '../../../src/pubsub/wire/protobuf-hub-codec.js'
import { idIn, type Ledger } from './ledger.js'
import type { SimulationContext } from './pipe.js'
import type { ProbeSupport, Schedule } from './schedule.js'
import type { Wire } from './wire.js'

const DIALECTS = { json: new SharedCodec(jsonHubCodec), protobuf: new SharedCodec(protobufHubCodec) }
const ROLES = ['webpubsub.joinLeaveGroup', 'webpubsub.sendToGroup']

/** A hub's behaviour, as described at the schedule. */
export type Limits = Pick<Schedule, 'retention' | 'idleTimeout' | 'signs'>

/** Returns the kind of probe in a frame. */
function probeKind(data: FrameData): 'ping' | 'request' | undefined {
  const frame = (typeof data === 'string' ? jsonHubCodec : protobufHubCodec).decode(data)
  if (frame.type === 'ping') return 'ping'
  return frame.type === 'leaveGroup' && frame.group === PROBE_GROUP ? 'request' : undefined
}

/** The shipped engine, which reports to the ledger. */
class RecordedEngine extends HubEngine {
  readonly #ledger: Ledger
  readonly #context: SimulationContext
  /** The session of the latest frame. */
  #session = ''

  constructor(options: HubEngineOptions, ledger: Ledger, context: SimulationContext) {
    super(options)
    this.#ledger = ledger
    this.#context = context
  }

  override deliver(
    targets: ReadonlySet<HubSession>,
    frame: DataFrame,
    now: number,
    spared?: ReadonlySet<string>,
  ): number {
    const getters = Array.from(targets, ({ connectionId }) => connectionId).filter(id => !spared?.has(id))
    const deliveries = super.deliver(targets, frame, now, spared)
    if (deliveries !== getters.length) this.#ledger.complain(`delivered to ${deliveries}, not ${getters.length}`)
    this.#ledger.onPublished(frame, getters, this.#context.time.now, this.#session)
    return deliveries
  }

  override receive(...what: Parameters<HubEngine['receive']>): number {
    this.#session = what[0].connectionId
    return super.receive(...what)
  }

  override leave(session: HubSession, group: string): void {
    super.leave(session, group)
    this.#ledger.onLeft(session.connectionId, group)
  }
}

/** A hub on virtual time, which can lose all its state. */
export class SimHub {
  engine: HubEngine
  readonly #context: SimulationContext
  readonly #ledger: Ledger
  readonly #limits: Limits
  #wires = new Set<Wire>()
  #running = true
  #secrets = 0
  #armedFor = Number.POSITIVE_INFINITY
  #disarm: (() => void) | undefined

  constructor(context: SimulationContext, ledger: Ledger, limits: Limits) {
    this.#context = context
    this.#ledger = ledger
    this.#limits = limits
    this.engine = this.#emptyEngine()
  }

  get signs(): ProbeSupport {
    return this.#limits.signs
  }

  hasSession(connectionId: string): boolean {
    return this.engine.sessionIndex.get(connectionId) !== undefined
  }

  accept(wire: Wire, url: string, protocol: 'json' | 'protobuf'): void {
    const { pathname, search } = new URL(url)
    const handshake = readHandshake(pathname + search, {}, '/client')
    if (!this.#running || 'status' in handshake) {
      wire.cut()
      return
    }
    this.#wires.add(wire)
    wire.down.push(() => wire.near.opened())
    const session = this.#attach(wire, handshake.claim, handshake.query.get('user') ?? '', protocol)
    if (session) this.#bind(session, wire)
    else wire.far.close(CLOSE.policy, 'there is no such session')
    this.#arm()
  }

  /** Sends a message of the application to a group or to all clients. */
  publish(group?: string): void {
    const payload = { dataType: 'json', data: this.#ledger.nextId() } as const
    const { sessionIndex: roster } = this.engine
    if (group === undefined) this.engine.deliver(roster.all, { type: 'serverMessage', payload }, this.#context.time.now)
    else this.engine.deliver(roster.ofGroup(group), { type: 'groupMessage', group, payload }, this.#context.time.now)
    this.#arm()
  }

  /** Ends a session of a user on behalf of the application. */
  kick(userId: string): void {
    for (const session of Array.from(this.engine.sessionIndex.ofUser(userId))) {
      session.send({ type: 'disconnected', reason: 'kicked' })
      this.engine.end(session, 'hub', CLOSE.normal, 'kicked')
    }
  }

  /** Loses all sessions and connections for `outage` ms. */
  restart(outage: number): void {
    for (const wire of this.#wires) wire.cut()
    this.#wires = new Set()
    this.#running = false
    this.#disarm?.()
    this.#disarm = undefined
    this.#armedFor = Number.POSITIVE_INFINITY
    this.engine = this.#emptyEngine()
    this.#context.time.after(outage, () => {
      this.#running = true
    })
  }

  #emptyEngine(): HubEngine {
    const secret = (bytes: number): string => `${++this.#secrets}`.padStart(bytes, '0')
    const nothing = (): void => undefined
    const listener = { connected: nothing, disconnected: nothing, event: (of: EventRequest) => this.#decideLater(of) }
    const { retention, idleTimeout } = this.#limits
    const onError = (error: unknown): void => {
      throw error
    }
    const options = { retention, idleTimeout, generateSecret: secret, listener, onError }
    return new RecordedEngine(options, this.#ledger, this.#context)
  }

  #attach(
    wire: Wire,
    claim: SessionClaim | undefined,
    userId: string,
    protocol: 'json' | 'protobuf',
  ): HubSession | undefined {
    const { now } = this.#context.time
    if (!claim) return this.engine.connect(wire.far, DIALECTS[protocol], { userId, roles: ROLES }, now)
    return this.engine.recover(claim, wire.far, now)
  }

  #bind(session: HubSession, wire: Wire): void {
    const { engine } = this
    const { far: link } = wire
    const current = (task: (now: number) => void): void => {
      if (this.engine !== engine) return
      task(this.#context.time.now)
      this.#arm()
    }
    link.listener = {
      receive: data => {
        const asked = this.signs === 'pongs' ? undefined : probeKind(data)
        if (asked === undefined || (asked === 'request' && this.signs !== 'none')) {
          current(now => engine.receive(session, link, data, now))
        } else if (this.signs === 'acks, no pings') {
          current(() => engine.end(session, 'violation', CLOSE.malformed, 'what is a ping?'))
        }
      },
      alive: () => current(now => engine.onActivity(session, link, now)),
      drained: () => current(() => engine.onDrain(session, link)),
      gone: code => {
        this.#wires.delete(wire)
        current(now => engine.onLinkClosed(session, link, code, now))
      },
    }
  }

  #decideLater(request: EventRequest): boolean {
    const { engine } = this
    const { time, random, conditions } = this.#context
    const isFaulty = random.chance(conditions.faulty)
    const decide = (): void => {
      if (this.engine !== engine || request.isSettled) return
      if (isFaulty) engine.events.refuse(request, { name: 'InternalServerError', message: 'not now' })
      else {
        this.#ledger.processedOnceMore(idIn(request.payload))
        engine.events.accept(request, 0)
      }
      this.#arm()
    }
    const delay = random.int(0, conditions.thinking)
    if (delay === 0) decide()
    else time.after(delay, decide)
    return true
  }

  #arm(): void {
    const { time } = this.#context
    const deadline = this.engine.deadline
    if (deadline >= this.#armedFor) return
    this.#disarm?.()
    this.#armedFor = deadline
    this.#disarm = time.clock().schedule(deadline - time.now, () => this.#tick())
  }

  #tick(): void {
    this.#armedFor = Number.POSITIVE_INFINITY
    this.#disarm = undefined
    this.engine.tick(this.#context.time.now)
    this.#arm()
  }
}
