import type { Consumer, ConsumerMessages, JetStreamClient, JsMsg } from '@nats-io/jetstream'
import { ignoreElements, map, Observable } from 'rxjs'
import { fromUtf8, utf8 } from '../../../core/util/bytes.js'
import {
  type Publication,
  type SnapshotName,
  type Stream,
  type StreamBounds,
  StreamError,
  type StreamMessage,
} from '../cluster/stream.js'
import { closeWhole, type JetStreamConnection, streamError, whenDone } from './connection.js'
import type { NatsPackages } from './packages.js'

/** What a message has besides its bytes: subject, headers with its id, and the words of the protocol, bytes. */
const OVERHEAD = 1024
/** An answer that took longer does not come, ms. */
const ANSWER = 2_000
/** A node that does not answer within this does not live, ms. */
const SIGN_OF_LIFE = 1_000
/** So much is asked for at a time, bytes: a server ends the connection of one who has far more before him. */
const AHEAD = 8 * 1024 * 1024
/** For a block of a snapshot, ms. */
const BLOCK = 10_000

/** A stream in NATS JetStream. */
export class NatsStream implements Stream {
  readonly largest: number
  readonly #opened: JetStreamConnection
  readonly #client: JetStreamClient
  readonly #packages: NatsPackages
  readonly #orphanedChunks: OrphanedChunks

  constructor(opened: JetStreamConnection, packages: NatsPackages) {
    this.#opened = opened
    this.#packages = packages
    this.#orphanedChunks = new OrphanedChunks(opened)
    this.#client = packages.jetstream.jetstream(opened.nats)
    this.largest = (opened.nats.info?.max_payload ?? 1024 * 1024) - OVERHEAD
  }

  publish(bytes: Uint8Array, id: string): Observable<Publication> {
    const { subject } = this.#opened.names
    return whenDone('a message was not acknowledged', () =>
      this.#client.publish(subject, bytes, { msgID: id, timeout: ANSWER }),
    ).pipe(map(({ seq, duplicate }) => ({ position: seq, isDuplicate: duplicate })))
  }

  follow(after: number): Observable<StreamMessage> {
    return new Observable(subscriber => {
      let messages: ConsumerMessages | undefined
      const callback = (message: JsMsg): void => subscriber.next(messageOf(message))
      const follow = async (): Promise<void> => {
        const consumer = await this.#consumer(after)
        if (subscriber.closed) return
        messages = await consumer.consume({ callback, max_bytes: AHEAD })
        if (subscriber.closed) messages.stop()
        else await messages.closed()
      }
      follow().then(
        ended => subscriber.error(streamError('the stream is not followed any more', ended)),
        cause => subscriber.error(streamError('the stream cannot be followed', cause)),
      )
      return () => messages?.stop()
    })
  }

  bounds(): Observable<StreamBounds> {
    const { manager, names } = this.#opened
    return whenDone('the stream cannot be asked', () => manager.streams.info(names.stream)).pipe(
      map(({ state, cluster }) => ({
        first: state.messages === 0 ? state.last_seq + 1 : state.first_seq,
        last: state.last_seq,
        leader: cluster?.leader,
        missing: state.num_deleted ?? 0,
        behind: (cluster?.replicas ?? [])
          .filter(({ current, offline }) => !current || offline === true)
          .map(({ name }) => name),
      })),
    )
  }

  trim(upTo: number): Observable<never> {
    const { manager, names } = this.#opened
    return whenDone('the stream cannot be trimmed', () => manager.streams.purge(names.stream, { seq: upTo + 1 })).pipe(
      ignoreElements(),
    )
  }

  putSnapshot(name: string, blocks: Iterable<Uint8Array>): Observable<never> {
    return new Observable(subscriber => {
      const { readable, abort } = readableOf(blocks)
      const write = async (): Promise<void> => {
        const bucket = await this.#opened.bucket()
        await this.#orphanedChunks.find()
        await bucket.put({ name }, readable, { timeout: BLOCK })
      }
      write().then(
        () => subscriber.complete(),
        cause => subscriber.error(streamError('the snapshot was not written', cause)),
      )
      return abort
    })
  }

  snapshots(): Observable<readonly SnapshotName[]> {
    return whenDone('the snapshots cannot be listed', () => this.#opened.snapshots.list()).pipe(
      map(infos => infos.map(({ name, size }) => ({ name, size }))),
    )
  }

  getSnapshot(name: string): Observable<Uint8Array> {
    return new Observable(subscriber => {
      const read = async (): Promise<void> => {
        const found = await this.#opened.snapshots.get(name)
        if (found === null) throw new Error(`there is no ${name}`)
        for await (const bytes of bytesOf(found.data)) {
          if (subscriber.closed) return
          subscriber.next(bytes)
        }
        const failure = await found.error
        // Contrary to its type it may be undefined.
        if (failure instanceof Error) throw failure
      }
      read().then(
        () => subscriber.complete(),
        cause => subscriber.error(streamError('the snapshot cannot be read', cause)),
      )
    })
  }

  removeSnapshot(name: string): Observable<never> {
    return whenDone('the snapshot was not removed', () => this.#opened.snapshots.delete(name)).pipe(ignoreElements())
  }

  sweep(): Observable<never> {
    return whenDone('what is left of snapshots was not removed', () => this.#orphanedChunks.remove()).pipe(
      ignoreElements(),
    )
  }

  ask(nodeId: string): Observable<string | undefined> {
    const { nats, names } = this.#opened
    const { errors } = this.#packages.transport
    return whenDone('the other nodes cannot be asked', async () => {
      try {
        const { data } = await nats.request(names.node(nodeId), undefined, { timeout: SIGN_OF_LIFE })
        return fromUtf8(data)
      } catch (error) {
        const isNobody =
          error instanceof errors.NoRespondersError ||
          error instanceof errors.TimeoutError ||
          (error instanceof errors.RequestError && error.isNoResponders())
        if (isNobody) return undefined
        throw error
      }
    })
  }

  answer(nodeId: string, life: string): Observable<never> {
    const { nats, names } = this.#opened
    return new Observable(() => {
      const callback = (error: Error | null, message: { respond(data: Uint8Array): boolean }): void => {
        if (error === null) message.respond(utf8(life))
      }
      const subscription = nats.subscribe(names.node(nodeId), { callback })
      return () => {
        if (!nats.isClosed()) subscription.unsubscribe()
      }
    })
  }

  close(): Observable<never> {
    return whenDone('the connection was not closed', () => closeWhole(this.#opened.nats)).pipe(ignoreElements())
  }

  #consumer(after: number): Promise<Consumer> {
    const { names } = this.#opened
    const { DeliverPolicy } = this.#packages.jetstream
    return this.#client.consumers.get(names.stream, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: after + 1,
    })
  }
}

const NANOS_PER_MS = 1_000_000n

const messageOf = ({ seq, timestampNanos, data }: JsMsg): StreamMessage => ({
  position: seq,
  time: Number(timestampNanos / NANOS_PER_MS),
  bytes: data,
})

/**
 * Parts of snapshots whose writers were killed, or went before they had tidied up: nobody would ever remove them. Those of
 * a writer that is at it are not told apart from them, so only what was there before a later one began may be removed, and
 * only when that is done: whoever has taken longer comes too late for his snapshot to count.
 */
export class OrphanedChunks {
  readonly #opened: JetStreamConnection
  #found: readonly string[] = []

  constructor(opened: JetStreamConnection) {
    this.#opened = opened
  }

  /** Notes what there is now. */
  async find(): Promise<void> {
    const { manager, names } = this.#opened
    const filter = { subjects_filter: `$O.${names.bucket}.C.>` }
    const { state } = await manager.streams.info(`OBJ_${names.bucket}`, filter)
    this.#found = await this.#withoutSnapshot(Object.keys(state.subjects ?? {}))
  }

  /** Removes what was noted, but for what belongs to a snapshot by now. */
  async remove(): Promise<void> {
    const { manager, names } = this.#opened
    const left = this.#found.length === 0 ? [] : await this.#withoutSnapshot(this.#found)
    this.#found = []
    for (const filter of left) await manager.streams.purge(`OBJ_${names.bucket}`, { filter })
  }

  async #withoutSnapshot(subjects: readonly string[]): Promise<string[]> {
    const { snapshots, names } = this.#opened
    const whole = new Set((await snapshots.list()).map(({ nuid }) => `$O.${names.bucket}.C.${nuid}`))
    return subjects.filter(subject => !whole.has(subject))
  }
}

/** Blocks as a stream of the platform, which pulls them one by one. */
export function readableOf(blocks: Iterable<Uint8Array>): {
  readonly readable: ReadableStream<Uint8Array>
  readonly abort: () => void
} {
  const iterator = blocks[Symbol.iterator]()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let ended = false
  const readable = new ReadableStream<Uint8Array>({
    start: own => {
      controller = own
    },
    pull: own => {
      const { done, value } = iterator.next()
      ended = done === true
      if (done) own.close()
      else own.enqueue(value)
    },
  })
  const abort = (): void => {
    if (ended) return
    ended = true
    controller?.error(new StreamError('lost', 'the snapshot is not wanted any more'))
  }
  return { readable, abort }
}

/** What a stream of the platform brings. */
export async function* bytesOf(readable: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = readable.getReader()
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value
  } finally {
    await reader.cancel()
  }
}
