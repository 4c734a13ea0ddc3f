import { Subscription } from 'rxjs'
import type { LogEntry } from '../../engine/entry.js'
import { encodeEntry } from '../entry-codec.js'
import { type Log, LogFailure, type LogListener, type Sharing } from '../log.js'
import { givenUp, holeFound, rolledBack, superseded, tooLarge, unreadable } from './errors.js'
import { Follower } from './follower.js'
import { type Availability, LogHealthMonitor } from './log-health-monitor.js'
import { LogPublisher, type PendingMessage, WINDOW } from './log-publisher.js'
import { entryOf, type MessageJudge, type MessageVerdict } from './message-judge.js'
import { ENVELOPE_OVERHEAD, encodeEnvelope, type LogKeys, type NodeMessage } from './node-message.js'
import { LARGEST_ENTRY } from './node-table.js'
import type { LogSettings, ReplicatedHost } from './settings.js'
import { SnapshotWriter } from './snapshot-writer.js'
import type { Hole, Stream, StreamMessage } from './stream.js'
import { ForeignReports, OtherSigners } from './trust.js'

/** How long messages on their way are waited for when the log is closed, ms. */
const DRAIN_TIMEOUT_MS = 3_000
/** How long the stream has to say whether it was trimmed, ms. */
const BOUNDS_TIMEOUT_MS = 2_000
const NOTHING = new Uint8Array(0)

/** Whether a log takes entries; why not goes with each entry that is rejected. */
type LogState =
  | { readonly state: 'open' }
  /** It waits for what is on its way. */
  | { readonly state: 'draining'; readonly failure: LogFailure; readonly onDrained: () => void }
  | { readonly state: 'stopped'; readonly failure: LogFailure }

/** The log of several nodes: an entry is committed when it comes back from the stream that they share. */
export class ReplicatedLog implements Log {
  readonly isSynchronous = false
  readonly batchDelayMs = 0
  readonly sharing: Sharing
  readonly #stream: Stream
  readonly #nodeId: string
  readonly #largest: number
  readonly #messageJudge: MessageJudge
  readonly #host: ReplicatedHost
  readonly #publisher: LogPublisher
  readonly #follower: Follower
  readonly #writer: SnapshotWriter
  readonly #health: LogHealthMonitor
  readonly #keys: LogKeys | undefined
  readonly #foreign: ForeignReports
  readonly #otherSigners: OtherSigners
  /** That all sign is announced once in a life. */
  #hasAnnouncedSignedOnly = false
  #listener: LogListener | undefined
  #state: LogState = { state: 'open' }
  #trouble: unknown
  /** When the last entry was applied, monotonic ms. */
  #appliedAt: number
  #moved: () => void = () => undefined
  /** Asks why positions are missing. */
  #jumping = Subscription.EMPTY

  /** @param replica - as a snapshot has left it */
  constructor(stream: Stream, replica: MessageJudge, settings: LogSettings, host: ReplicatedHost) {
    const { nodeId, reads = 'linearizable', stallTimeout = 10_000, snapshots, keys } = settings
    const batch = Math.min(256 * 1024, stream.largest - 2 * ENVELOPE_OVERHEAD)
    this.sharing = { maxInFlight: WINDOW, maxBatchBytes: batch, maxQueuedBytes: 32 * 1024 * 1024, reads }
    this.#stream = stream
    this.#nodeId = nodeId
    this.#largest = stream.largest - ENVELOPE_OVERHEAD
    this.#messageJudge = replica
    this.#host = host
    this.#keys = keys
    this.#foreign = new ForeignReports(host.clock, host.troubled)
    this.#otherSigners = new OtherSigners(host.clock, host.troubled)
    const { clock, random, capture } = host
    this.#appliedAt = clock.monotonic()
    const troubled = (error: unknown): void => {
      this.#trouble = error
      host.troubled(error)
    }
    const position = (): number => replica.position
    this.#publisher = new LogPublisher(stream, {
      clock,
      random,
      nodeId,
      position,
      seal: (parcel, life, number) => this.#seal(parcel, life, number),
      stored: at => this.#follower.knows(at),
      rolledBack: at => this.#fail(rolledBack(at, replica.position)),
      troubled,
    })
    this.#follower = new Follower(stream, { clock, random, position, take: message => this.#take(message), troubled })
    const writing = { capture, push: (parcel: PendingMessage) => this.#push(parcel), troubled }
    this.#writer = new SnapshotWriter(stream, replica, writing, snapshots)
    this.#health = new LogHealthMonitor(stallTimeout, {
      clock,
      late: () => this.#publisher.late,
      busy: () => !this.#publisher.idle || this.#publisher.life === '',
      beat: () => this.#push({ kind: 'entry', body: NOTHING }),
      changed: availability => this.#changed(availability),
      looked: () => this.#look(),
    })
  }

  /** Time of the log as it should be now, ms. */
  get now(): number {
    return this.#messageJudge.time + Math.floor(this.#host.clock.monotonic() - this.#appliedAt)
  }

  /** So far the stream is known to go. */
  get known(): number {
    return this.#follower.known
  }

  /** Whether this node takes part: its first message is in the log. */
  get established(): boolean {
    return this.#publisher.established
  }

  /** Follows the stream, which goes to a position at least; `moved` is called when it has come further. */
  follow(end: number, moved: () => void): void {
    this.#moved = moved
    this.#follower.knows(end)
    this.#follower.start()
    this.#health.start()
  }

  /** Takes part, in a life of its own. */
  begin(life: string): void {
    this.#health.sent()
    this.#writer.begin()
    this.#hasAnnouncedSignedOnly = false
    if (!this.#publisher.hasLived) this.#otherSigners.begin()
    this.#publisher.begin(life)
  }

  listen(listener: LogListener): void {
    this.#listener = listener
  }

  append(entry: LogEntry): void {
    const failure = this.#failure
    const body = failure === undefined ? encodeEntry(entry) : NOTHING
    if (failure !== undefined || body.length > LARGEST_ENTRY) {
      this.#listener?.onRejected(entry, failure ?? tooLarge(body.length, LARGEST_ENTRY))
      return
    }
    for (let at = 0; at < body.length; at += this.#largest) {
      const piece = body.subarray(at, at + this.#largest)
      const isLast = at + this.#largest >= body.length
      this.#push(isLast ? { kind: 'entry', body: piece, entry } : { kind: 'piece', body: piece })
    }
  }

  async close(): Promise<void> {
    if (this.#state.state !== 'open') return
    const failure = new LogFailure('unavailable', 'the store is shutting down')
    if (!this.#publisher.idle && this.#health.availability !== 'away') await this.#drain(failure)
    this.#stop(failure)
  }

  /** Ends at once: of what is on its way nobody knows what becomes. */
  stop(): void {
    this.#jumping.unsubscribe()
    this.#stop(new LogFailure('unavailable', 'this node is being opened anew'))
  }

  /** Settles when nothing is on its way, or that takes too long. */
  #drain(failure: LogFailure): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#host.clock.schedule(DRAIN_TIMEOUT_MS, resolve)
      const onDrained = (): void => {
        cancel()
        resolve()
      }
      this.#state = { state: 'draining', failure, onDrained }
    })
  }

  /** @param failure - of entries that come from now on, unless the log is being closed */
  #stop(failure: LogFailure): void {
    const before = this.#state
    if (before.state === 'stopped') return
    this.#state = { state: 'stopped', failure: this.#failure ?? failure }
    this.#health.stop()
    this.#follower.stop()
    this.#writer.stop()
    const unknown = new LogFailure('unknown', 'the log went away before it was known whether this is in it')
    for (const entry of this.#publisher.stop()) this.#listener?.onRejected(entry, unknown)
    if (before.state === 'draining') before.onDrained()
  }

  /** Why it takes no more entries. */
  get #failure(): LogFailure | undefined {
    return this.#state.state === 'open' ? undefined : this.#state.failure
  }

  #push(parcel: PendingMessage): void {
    this.#health.sent()
    this.#publisher.push(parcel)
  }

  #seal({ kind, body }: PendingMessage, life: string, number: number): Uint8Array {
    const { nodes, position: applied, digest } = this.#messageJudge
    const node = this.#nodeId
    const replaces = kind === 'start' ? (nodes.get(node)?.life ?? '') : ''
    // Not the newest one: that may be of an entry which is being applied.
    const known = digest.at(applied) ?? digest.value
    const clients = this.#host.clients()
    return encodeEnvelope({ kind, node, life, number, replaces, applied, digest: known, clients, body }, this.#keys)
  }

  #take(message: StreamMessage): void {
    const { position } = this.#messageJudge
    if (this.#state.state === 'stopped' || message.position <= position) return
    if (message.position > position + 1) {
      this.#jump({ from: position + 1, to: message.position - 1 })
      return
    }
    try {
      this.#apply(this.#messageJudge.judge(message), message.position)
    } catch (error) {
      this.#fail(error)
      return
    }
    this.#moved()
  }

  /** Trimming is what happens to a node that was away; a hole is damage. */
  #jump(hole: Hole): void {
    this.stop()
    this.#jumping = new Subscription()
    const { clock } = this.#host
    const go = (isHole: boolean): void => {
      this.#jumping.unsubscribe()
      if (isHole) this.#host.troubled(holeFound(hole))
      this.#host.outrun(isHole ? hole : undefined)
    }
    this.#jumping.add(clock.schedule(BOUNDS_TIMEOUT_MS, () => go(false)))
    this.#jumping.add(
      this.#stream.bounds().subscribe({
        next: ({ first }) => go(first <= hole.from),
        error: error => {
          this.#host.troubled(error)
          go(false)
        },
      }),
    )
  }

  #apply(judged: MessageVerdict, position: number): void {
    if (judged.type === 'foreign') this.#foreign.take(position, judged.why)
    else if (judged.type !== 'refused' && this.#publisher.established && this.#isSignedOtherwise(judged.signer))
      this.#otherSigners.heard(judged.envelope, position)
    const envelope = judged.type === 'foreign' ? undefined : judged.envelope
    const own = envelope?.node === this.#nodeId && this.#publisher.knows(envelope.life) ? envelope : undefined
    if (judged.type === 'entry') this.#entry(judged, own, position)
    else if (judged.type === 'piece' && own) this.#publisher.taken(own.life, own.number)
    this.#messageJudge.close(position)
    this.#appliedAt = this.#host.clock.monotonic()
    if (own === undefined) return
    if (judged.type === 'refused') this.#publisher.refused(own.life, own.number)
    else this.#arrived(judged, own)
  }

  #entry(judged: MessageVerdict & { type: 'entry' }, own: NodeMessage | undefined, position: number): void {
    const { envelope, time } = judged
    if (own === undefined) {
      // Before that it may be what this node itself sent before it was killed or opened anew: ours takes its place.
      if (envelope.kind === 'start' && envelope.node === this.#nodeId && this.#publisher.hasLived)
        throw superseded(this.#nodeId)
      this.#tellForeign(this.#entryIn(judged, position))
      return
    }
    const { parcel, over } = this.#publisher.taken(own.life, own.number)
    for (const entry of over) this.#listener?.onRejected(entry, givenUp())
    if (parcel?.entry === undefined) this.#tellForeign(this.#entryIn(judged, position))
    else this.#listener?.onCommitted({ ...parcel.entry, time })
  }

  #entryIn({ envelope, time, body, signer }: MessageVerdict & { type: 'entry' }, position: number): LogEntry {
    try {
      return entryOf(body, time)
    } catch (error) {
      // A node has sent it, of another version.
      if (signer !== undefined) throw error
      this.#host.troubled(unreadable(envelope.node, position, error))
      return entryOf(undefined, time)
    }
  }

  #tellForeign(entry: LogEntry): void {
    if (this.#listener?.onForeign) this.#listener.onForeign(entry)
    else this.#host.apply(entry)
  }

  /** A message of ours counts, and all that came before is applied. */
  #arrived(judged: MessageVerdict, { kind }: NodeMessage): void {
    this.#health.arrived()
    if (kind === 'claim') this.#writer.claimed(judged.type === 'entry' && judged.granted, this.#nodeId)
    if (kind === 'written') this.#writer.written()
    if (this.#publisher.idle && this.#state.state === 'draining') this.#state.onDrained()
  }

  #look(): void {
    this.#follower.look()
    this.#foreign.look()
    if (!this.#publisher.established || this.#state.state !== 'open') return
    this.#writer.look()
    const { trust } = this.#messageJudge
    if (this.#hasAnnouncedSignedOnly || !trust.isDue || !this.#otherSigners.areGone(trust.since === undefined)) return
    this.#hasAnnouncedSignedOnly = true
    this.#push({ kind: 'signed-only', body: NOTHING })
  }

  #changed(availability: Availability): void {
    this.#host.available(availability, this.#trouble)
    // Nobody waits for what is on its way: it shall not come into effect when all think that it is over.
    if (availability === 'away' && this.#publisher.established) this.begin(this.#host.newLife())
  }

  #isSignedOtherwise(signer: string | undefined): boolean {
    return this.#keys !== undefined && signer !== this.#keys.fingerprint
  }

  #fail(error: unknown): void {
    if (this.#state.state === 'stopped') return
    this.#stop(new LogFailure('unavailable', 'this node has stopped', { cause: error }))
    this.#host.failed(error)
  }
}
