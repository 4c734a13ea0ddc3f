import { Subscription } from 'rxjs'
import { logChannel } from '../../../core/diagnostics/server-channels.js'
import { settleWithin } from '../../../core/util/wait.js'
import type { LogEntry } from '../../engine/entry.js'
import { encodeEntry } from '../entry-codec.js'
import { type Log, LogFailure, type LogListener, type Sharing } from '../log.js'
import {
  entryAbandoned,
  entryTooLarge,
  holeError,
  rolledBackError,
  supersededError,
  unreadableEntryError,
} from './errors.js'
import { Follower } from './follower.js'
import { type Availability, LogHealthMonitor } from './log-health-monitor.js'
import { LogPublisher, MAX_IN_FLIGHT, type PendingMessage } from './log-publisher.js'
import { decodeNodeEntry, type MessageJudge, type MessageVerdict } from './message-judge.js'
import { encodeNodeMessage, type LogKeys, MAX_MESSAGE_OVERHEAD_BYTES, type NodeMessage } from './node-message.js'
import { MAX_ENTRY_BYTES } from './node-table.js'
import type { LogSettings, ReplicatedLogHost } from './settings.js'
import { SnapshotWriter } from './snapshot-writer.js'
import type { Hole, Stream, StreamMessage } from './stream.js'
import { ForeignMessageReporter, OtherSigners } from './trust.js'

/** The time for which `close` waits for messages in flight. */
const DRAIN_TIMEOUT_MS = 3_000
/** The time to wait for the stream's bounds, which show whether the stream was trimmed. */
const BOUNDS_TIMEOUT_MS = 2_000
/** The minimum size of a body, without which an entry would have too many pieces. */
const MIN_BODY_BYTES = 1_024
const EMPTY = new Uint8Array(0)

/** The state that decides whether the log accepts entries. Rejected entries carry the failure. */
type LogState =
  | { readonly state: 'open' }
  | { readonly state: 'draining'; readonly failure: LogFailure; readonly onDrained: () => void }
  | { readonly state: 'stopped'; readonly failure: LogFailure }

/** A cluster's log. An entry is committed when the node reads it back from the shared stream. */
export class ReplicatedLog implements Log {
  readonly isSynchronous = false
  readonly batchDelayMs = 0
  readonly sharing: Sharing
  readonly #stream: Stream
  readonly #nodeId: string
  readonly #judge: MessageJudge
  readonly #host: ReplicatedLogHost
  readonly #publisher: LogPublisher
  readonly #follower: Follower
  readonly #writer: SnapshotWriter
  readonly #health: LogHealthMonitor
  readonly #keys: LogKeys | undefined
  readonly #foreignMessages: ForeignMessageReporter
  readonly #otherSigners: OtherSigners
  /** Whether the node has announced `signed-only` in this epoch, because one announcement is enough. */
  #hasAnnouncedSignedOnly = false
  #listener: LogListener | undefined
  #state: LogState = { state: 'open' }
  #lastError: unknown
  /** The time when the last entry was applied, in monotonic ms. */
  #appliedAt: number
  /** The stream time of the last message in ms, or `undefined` if only a snapshot was read. */
  #lastMessageTime: number | undefined
  #onProgress: () => void = () => undefined
  /** The subscription that determines why positions are missing. */
  #gapCheck = Subscription.EMPTY

  /** @param judge - judge whose state was restored from a snapshot */
  constructor(stream: Stream, judge: MessageJudge, settings: LogSettings, host: ReplicatedLogHost) {
    const { nodeId, reads = 'linearizable', stallTimeout = 10_000, snapshots, keys } = settings
    this.sharing = {
      maxInFlight: MAX_IN_FLIGHT,
      // The limit of the stream may change while the node runs.
      get maxBatchBytes() {
        return Math.min(256 * 1024, maxBodyBytes(stream) - MAX_MESSAGE_OVERHEAD_BYTES)
      },
      maxQueuedBytes: 32 * 1024 * 1024,
      reads,
    }
    this.#stream = stream
    this.#nodeId = nodeId
    this.#judge = judge
    this.#host = host
    this.#keys = keys
    this.#foreignMessages = new ForeignMessageReporter(host.clock, host.onError)
    this.#otherSigners = new OtherSigners(host.clock, host.onError)
    const { clock, random, capture } = host
    this.#appliedAt = clock.monotonic()
    const onError = (error: unknown): void => {
      this.#lastError = error
      host.onError(error)
    }
    const position = (): number => judge.position
    this.#publisher = new LogPublisher(stream, {
      clock,
      random,
      nodeId,
      position,
      maxBodyBytes: () => maxBodyBytes(stream),
      encode: (message, epoch, number) => this.#encode(message, epoch, number),
      onStored: at => this.#follower.extendKnownEnd(at),
      onRolledBack: at => this.#fail(rolledBackError(at, judge.position)),
      onLimitLowered: () => this.#startEpoch(host.newEpochId(), true),
      onError,
    })
    this.#follower = new Follower(stream, {
      clock,
      random,
      position,
      onMessage: message => this.#receive(message),
      onError,
    })
    const snapshotHost = { capture, send: (message: PendingMessage) => this.#send(message), onError }
    this.#writer = new SnapshotWriter(stream, judge, snapshotHost, snapshots)
    this.#health = new LogHealthMonitor(stallTimeout, {
      clock,
      oldestAgeMs: () => this.#publisher.oldestAgeMs,
      isBusy: () => !this.#publisher.isIdle || this.#publisher.epochId === '',
      sendHeartbeat: () => this.#send({ kind: 'entry', body: EMPTY }),
      onAvailabilityChange: availability => this.#handleAvailability(availability),
      onCheck: () => this.#check(),
    })
  }

  /** The current time of the log in ms. */
  get now(): number {
    return this.#judge.time + Math.floor(this.#host.clock.monotonic() - this.#appliedAt)
  }

  /** The last position known to exist in the stream. */
  get knownEnd(): number {
    return this.#follower.knownEnd
  }

  /** Returns whether this node takes part, which means that its first message is in the log. */
  get isEstablished(): boolean {
    return this.#publisher.isEstablished
  }

  /** Follows the stream, which reaches at least `streamEnd`. Calls `onProgress` after each message. */
  follow(streamEnd: number, onProgress: () => void): void {
    this.#onProgress = onProgress
    this.#follower.extendKnownEnd(streamEnd)
    this.#follower.start()
    this.#health.start()
  }

  startEpoch(epoch: string): void {
    this.#startEpoch(epoch, false)
  }

  #startEpoch(epoch: string, resends: boolean): void {
    this.#health.recordSent()
    this.#writer.onNewEpoch()
    this.#hasAnnouncedSignedOnly = false
    if (!this.#publisher.hasBeenEstablished) this.#otherSigners.restart()
    this.#publisher.startEpoch(epoch, resends)
  }

  listen(listener: LogListener): void {
    this.#listener = listener
  }

  append(entry: LogEntry): void {
    const failure = this.#failure
    const body = failure === undefined ? encodeEntry(entry) : EMPTY
    if (failure !== undefined || body.length > MAX_ENTRY_BYTES) {
      this.#listener?.onRejected(entry, failure ?? entryTooLarge(body.length, MAX_ENTRY_BYTES))
      return
    }
    this.#send({ kind: 'entry', body, entry })
  }

  async close(): Promise<void> {
    if (this.#state.state !== 'open') return
    const failure = new LogFailure('unavailable', 'the store is shutting down')
    if (!this.#publisher.isIdle && this.#health.availability !== 'away') await this.#drain(failure)
    this.#stop(failure)
  }

  /** Stops immediately. The outcome of entries in flight is unknown. */
  stop(): void {
    this.#gapCheck.unsubscribe()
    this.#stop(new LogFailure('unavailable', 'this node is being reopened'))
  }

  /** Resolves when nothing is in flight, or after a timeout. */
  #drain(failure: LogFailure): Promise<void> {
    return settleWithin(DRAIN_TIMEOUT_MS, this.#host.clock, onDrained => {
      this.#state = { state: 'draining', failure, onDrained }
    })
  }

  /** @param failure - reason to reject later entries, unless the log is already closing */
  #stop(failure: LogFailure): void {
    const previousState = this.#state
    if (previousState.state === 'stopped') return
    this.#state = { state: 'stopped', failure: this.#failure ?? failure }
    this.#health.stop()
    this.#follower.stop()
    this.#writer.stop()
    const unknown = new LogFailure('unknown', 'the log closed before the outcome of the entry was known')
    for (const entry of this.#publisher.stop()) this.#listener?.onRejected(entry, unknown)
    if (previousState.state === 'draining') previousState.onDrained()
  }

  get #failure(): LogFailure | undefined {
    return this.#state.state === 'open' ? undefined : this.#state.failure
  }

  #send(message: PendingMessage): void {
    this.#health.recordSent()
    this.#publisher.enqueue(message)
  }

  #encode({ kind, body }: PendingMessage, epoch: string, number: number): Uint8Array {
    const { nodes, position: appliedPosition, digest } = this.#judge
    const node = this.#nodeId
    const previousEpoch = kind === 'start' ? (nodes.get(node)?.epoch ?? '') : ''
    // The digest at the position is sent, because the current digest may include an entry that is being applied.
    const known = digest.at(appliedPosition) ?? digest.value
    const clientCount = this.#host.countClients()
    return encodeNodeMessage(
      { kind, node, epoch, number, previousEpoch, appliedPosition, digest: known, clientCount, body },
      this.#keys,
    )
  }

  #receive(message: StreamMessage): void {
    const { position } = this.#judge
    if (this.#state.state === 'stopped') return
    if (message.position === position && message.time !== (this.#lastMessageTime ?? message.time))
      this.#fail(rolledBackError(position, position))
    if (message.position <= position) return
    if (message.position > position + 1) {
      this.#handleGap({ from: position + 1, to: message.position - 1 })
      return
    }
    try {
      this.#applyVerdict(this.#judge.judge(message), message.position)
    } catch (error) {
      this.#fail(error)
      return
    }
    this.#lastMessageTime = message.time
    this.#onProgress()
  }

  /**
   * Handles missing positions. For a node that was offline, the stream may have been trimmed. Any other gap is damage.
   */
  #handleGap(hole: Hole): void {
    this.stop()
    this.#gapCheck = new Subscription()
    const { clock } = this.#host
    const finish = (isHole: boolean): void => {
      this.#gapCheck.unsubscribe()
      if (isHole) this.#host.onError(holeError(hole))
      this.#host.onOutrun(isHole ? hole : undefined)
    }
    this.#gapCheck.add(clock.schedule(BOUNDS_TIMEOUT_MS, () => finish(false)))
    this.#gapCheck.add(
      this.#stream.bounds().subscribe({
        next: ({ first }) => finish(first <= hole.from),
        error: error => {
          this.#host.onError(error)
          finish(false)
        },
      }),
    )
  }

  #applyVerdict(verdict: MessageVerdict, position: number): void {
    if (verdict.type === 'foreign') this.#foreignMessages.add(position, verdict.reason)
    else if (verdict.type !== 'refused' && this.#publisher.isEstablished && this.#isSignedOtherwise(verdict.signer))
      this.#otherSigners.record(verdict.nodeMessage, position)
    const nodeMessage = verdict.type === 'foreign' ? undefined : verdict.nodeMessage
    const own =
      nodeMessage?.node === this.#nodeId && this.#publisher.hasEpoch(nodeMessage.epoch) ? nodeMessage : undefined
    if (verdict.type === 'entry') this.#applyEntry(verdict, own, position)
    else if (verdict.type === 'piece' && own) this.#publisher.acknowledge(own.epoch, own.number)
    this.#judge.finishPosition(position)
    this.#appliedAt = this.#host.clock.monotonic()
    if (own === undefined) return
    if (verdict.type === 'refused') this.#publisher.retryOutOfOrder(own.epoch, own.number)
    else this.#handleArrival(verdict, own)
  }

  #applyEntry(verdict: MessageVerdict & { type: 'entry' }, own: NodeMessage | undefined, position: number): void {
    const { nodeMessage, time } = verdict
    if (own === undefined) {
      // Before the epoch is established, this may be a message that this node sent before it was killed or reopened.
      // The new epoch replaces such messages.
      if (nodeMessage.kind === 'start' && nodeMessage.node === this.#nodeId && this.#publisher.hasBeenEstablished)
        throw supersededError(this.#nodeId)
      this.#notifyForeign(this.#decodeEntry(verdict, position))
      return
    }
    const { message, abandoned } = this.#publisher.acknowledge(own.epoch, own.number)
    for (const entry of abandoned) this.#listener?.onRejected(entry, entryAbandoned())
    if (message?.entry === undefined) this.#notifyForeign(this.#decodeEntry(verdict, position))
    else this.#listener?.onCommitted({ ...message.entry, time })
  }

  #decodeEntry({ nodeMessage, time, body, signer }: MessageVerdict & { type: 'entry' }, position: number): LogEntry {
    try {
      return decodeNodeEntry(body, time)
    } catch (error) {
      // A signed entry that cannot be decoded comes from a node of another version.
      if (signer !== undefined) throw error
      this.#host.onError(unreadableEntryError(nodeMessage.node, position, error))
      return decodeNodeEntry(undefined, time)
    }
  }

  #notifyForeign(entry: LogEntry): void {
    if (this.#listener?.onForeign) this.#listener.onForeign(entry)
    else this.#host.apply(entry)
  }

  /** Handles a message of this node that counts. Everything before the message is applied. */
  #handleArrival(verdict: MessageVerdict, { kind }: NodeMessage): void {
    this.#health.recordArrival()
    const isElected = kind === 'claim' && verdict.type === 'entry' && verdict.isGranted
    if (kind === 'claim') this.#writer.onClaimed(isElected, this.#nodeId)
    if (kind === 'written') this.#writer.onWritten()
    if (logChannel.hasSubscribers) this.#publishArrival(kind, isElected)
    if (this.#publisher.isIdle && this.#state.state === 'draining') this.#state.onDrained()
  }

  #publishArrival(kind: NodeMessage['kind'], isElected: boolean): void {
    if (kind === 'claim') logChannel.publish({ type: 'election', node: this.#nodeId, isElected })
    if (kind === 'written')
      logChannel.publish({ type: 'snapshot', position: this.#judge.position, duration: undefined })
  }

  #check(): void {
    if (logChannel.hasSubscribers) {
      const { position } = this.#judge
      const knownEnd = Math.max(position, this.knownEnd)
      logChannel.publish({ type: 'progress', node: this.#nodeId, position, knownEnd })
    }
    this.#follower.checkProgress()
    this.#foreignMessages.flush()
    if (!this.#publisher.isEstablished || this.#state.state !== 'open') return
    this.#writer.claimIfDue()
    const { signingPolicy } = this.#judge
    if (
      this.#hasAnnouncedSignedOnly ||
      !signingPolicy.shouldAnnounce ||
      !this.#otherSigners.canRequireSignatures(signingPolicy.signedSince === undefined)
    )
      return
    this.#hasAnnouncedSignedOnly = true
    this.#send({ kind: 'signed-only', body: EMPTY })
  }

  #handleAvailability(availability: Availability): void {
    if (logChannel.hasSubscribers) logChannel.publish({ type: 'availability', node: this.#nodeId, state: availability })
    this.#host.onAvailability(availability, this.#lastError)
    // Clients have already received errors for the entries in flight, so these entries must not take effect later.
    if (availability === 'away' && this.#publisher.isEstablished) this.startEpoch(this.#host.newEpochId())
  }

  #isSignedOtherwise(signer: string | undefined): boolean {
    return this.#keys !== undefined && signer !== this.#keys.fingerprint
  }

  #fail(error: unknown): void {
    if (this.#state.state === 'stopped') return
    this.#stop(new LogFailure('unavailable', 'this node has stopped', { cause: error }))
    this.#host.onFailed(error)
  }
}

/** Returns the maximum size in bytes of a message's body. Nodes cannot use a stream with a lower limit. */
const maxBodyBytes = (stream: Stream): number =>
  Math.max(MIN_BODY_BYTES, stream.maxMessageBytes - MAX_MESSAGE_OVERHEAD_BYTES)
