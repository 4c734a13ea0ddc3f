import type { Consumer, ConsumerMessages, JetStreamClient, JsMsg, StreamInfo } from '@nats-io/jetstream'
import { ignoreElements, map, Observable } from 'rxjs'
import { isError } from '../../../core/util/built-in-types.js'
import { fromUtf8, utf8 } from '../../../core/util/bytes.js'
import {
  type Publication,
  type SnapshotName,
  type Stream,
  type StreamBounds,
  StreamError,
  type StreamMessage,
} from '../cluster/stream.js'
import { closeConnection, fromTask, type JetStreamConnection, LoginMonitor, streamError } from './connection.js'
import type { NatsPackages } from './packages.js'

/** The size in bytes of a message without its body: subject, headers with its id, and protocol fields. */
const MESSAGE_OVERHEAD_BYTES = 1024
/** The code with which JetStream rejects a message that exceeds the limit of the stream. */
const MESSAGE_TOO_LARGE = 10_054
const PUBLISH_TIMEOUT_MS = 2_000
/** The time in ms within which a running node responds. */
const NODE_QUERY_TIMEOUT_MS = 1_000
/** The number of bytes requested at a time. A server closes a connection with far more data pending. */
const MAX_PREFETCH_BYTES = 8 * 1024 * 1024
const BLOCK_TIMEOUT_MS = 10_000

export class NatsStream implements Stream {
  readonly #connection: JetStreamConnection
  readonly #client: JetStreamClient
  readonly #packages: NatsPackages
  readonly #orphanedChunks: OrphanedChunks
  readonly #login: LoginMonitor
  /** The maximum size in bytes of a message of the stream, which an operator may set. */
  #maxStreamMessageBytes = Number.POSITIVE_INFINITY

  constructor(connection: JetStreamConnection, packages: NatsPackages) {
    this.#connection = connection
    this.#packages = packages
    this.#orphanedChunks = new OrphanedChunks(connection)
    this.#login = new LoginMonitor(connection.nats)
    this.#client = packages.jetstream.jetstream(connection.nats)
  }

  /** Each connection to a server starts with the server's limit. */
  get maxMessageBytes(): number {
    const { max_payload = 1024 * 1024 } = this.#connection.nats.info ?? {}
    return Math.min(max_payload, this.#maxStreamMessageBytes) - MESSAGE_OVERHEAD_BYTES
  }

  publish(bytes: Uint8Array, id: string): Observable<Publication> {
    const { subject } = this.#connection.names
    return fromTask('a message was not acknowledged', () =>
      this.#client.publish(subject, bytes, { msgID: id, timeout: PUBLISH_TIMEOUT_MS }).catch(async (error: unknown) => {
        if (error instanceof this.#packages.jetstream.JetStreamApiError && error.code === MESSAGE_TOO_LARGE)
          await this.#readInfo()
        throw this.#login.error ?? error
      }),
    ).pipe(map(({ seq, duplicate }) => ({ position: seq, isDuplicate: duplicate })))
  }

  follow(after: number): Observable<StreamMessage> {
    return new Observable(subscriber => {
      let messages: ConsumerMessages | undefined
      let hasStarted = false
      const callback = (message: JsMsg): void => {
        // The NATS client creates a lost consumer again behind the last message. Only a new subscription shows whether
        // the stream still has that message.
        if (hasStarted && message.info.deliverySequence === 1)
          subscriber.error(new StreamError('lost', 'the subscription to the stream was interrupted'))
        hasStarted = true
        subscriber.next(messageOf(message))
      }
      const follow = async (): Promise<void> => {
        const consumer = await this.#consumer(after)
        if (subscriber.closed) return
        messages = await consumer.consume({ callback, max_bytes: MAX_PREFETCH_BYTES })
        if (subscriber.closed) messages.stop()
        else await messages.closed()
      }
      follow().then(
        ended => subscriber.error(streamError('the subscription to the stream ended', ended)),
        cause => subscriber.error(streamError('the stream cannot be followed', cause)),
      )
      return () => messages?.stop()
    })
  }

  bounds(): Observable<StreamBounds> {
    return fromTask('the state of the stream cannot be read', () => this.#readInfo()).pipe(
      map(
        ({ state, cluster }): StreamBounds => ({
          first: state.messages === 0 ? state.last_seq + 1 : state.first_seq,
          last: state.last_seq,
          leader: cluster?.leader,
          missingCount: state.num_deleted ?? 0,
          laggingServers: (cluster?.replicas ?? [])
            .filter(({ current, offline }) => !current || offline === true)
            .map(({ name }) => name),
        }),
      ),
    )
  }

  trim(upTo: number): Observable<never> {
    const { manager, names } = this.#connection
    return fromTask('the stream cannot be trimmed', () => manager.streams.purge(names.stream, { seq: upTo + 1 })).pipe(
      ignoreElements(),
    )
  }

  putSnapshot(name: string, blocks: Iterable<Uint8Array>): Observable<never> {
    return new Observable(subscriber => {
      const { readable, abort } = toReadable(blocks)
      const write = async (): Promise<void> => {
        const bucket = await this.#connection.openBucket()
        await this.#orphanedChunks.scan()
        await bucket.put({ name }, readable, { timeout: BLOCK_TIMEOUT_MS })
      }
      write().then(
        () => subscriber.complete(),
        cause => subscriber.error(streamError('the snapshot was not written', cause)),
      )
      return abort
    })
  }

  snapshots(): Observable<readonly SnapshotName[]> {
    return fromTask('the snapshots cannot be listed', () => this.#connection.snapshots.list()).pipe(
      map(infos => infos.map(({ name, size }) => ({ name, size }))),
    )
  }

  getSnapshot(name: string): Observable<Uint8Array> {
    return new Observable(subscriber => {
      const read = async (): Promise<void> => {
        const found = await this.#connection.snapshots.get(name)
        if (found === null) throw new Error(`the snapshot ${name} does not exist`)
        for await (const bytes of readChunks(found.data)) {
          if (subscriber.closed) return
          subscriber.next(bytes)
        }
        const failure = await found.error
        // `failure` can be `undefined`, contrary to its type.
        if (isError(failure)) throw failure
      }
      read().then(
        () => subscriber.complete(),
        cause => subscriber.error(streamError('the snapshot cannot be read', cause)),
      )
    })
  }

  removeSnapshot(name: string): Observable<never> {
    return fromTask('the snapshot was not removed', () => this.#connection.snapshots.delete(name)).pipe(
      ignoreElements(),
    )
  }

  removeOrphans(): Observable<never> {
    return fromTask('orphaned chunks of snapshots were not removed', () => this.#orphanedChunks.remove()).pipe(
      ignoreElements(),
    )
  }

  queryNode(nodeId: string): Observable<string | undefined> {
    const { nats, names } = this.#connection
    const { errors } = this.#packages.transport
    return fromTask('the other nodes cannot be queried', async () => {
      try {
        const { data } = await nats.request(names.nodeSubject(nodeId), undefined, { timeout: NODE_QUERY_TIMEOUT_MS })
        return fromUtf8(data)
      } catch (error) {
        const hasNoResponder =
          error instanceof errors.NoRespondersError ||
          error instanceof errors.TimeoutError ||
          (error instanceof errors.RequestError && error.isNoResponders())
        if (hasNoResponder) return undefined
        throw error
      }
    })
  }

  respondForNode(nodeId: string, instanceId: string): Observable<never> {
    const { nats, names } = this.#connection
    return new Observable(() => {
      const callback = (error: Error | null, message: { respond(data: Uint8Array): boolean }): void => {
        if (error === null) message.respond(utf8(instanceId))
      }
      const subscription = nats.subscribe(names.nodeSubject(nodeId), { callback })
      return () => {
        if (!nats.isClosed()) subscription.unsubscribe()
      }
    })
  }

  close(): Observable<never> {
    return fromTask('the connection was not closed', () => closeConnection(this.#connection.nats)).pipe(
      ignoreElements(),
    )
  }

  async #readInfo(): Promise<StreamInfo> {
    const { manager, names } = this.#connection
    const info = await manager.streams.info(names.stream)
    const { max_msg_size } = info.config
    this.#maxStreamMessageBytes = max_msg_size > 0 ? max_msg_size : Number.POSITIVE_INFINITY
    return info
  }

  #consumer(after: number): Promise<Consumer> {
    const { names } = this.#connection
    const { DeliverPolicy } = this.#packages.jetstream
    return this.#client.consumers.get(names.stream, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: Math.max(1, after),
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
 * Removes chunks of snapshots whose writers were killed or did not clean up. Such chunks cannot be distinguished from
 * chunks of a snapshot that is being written. So only chunks that existed before a later snapshot was started are
 * removed, and only after the later snapshot is complete. A slower writer would finish too late for its snapshot to
 * count.
 */
export class OrphanedChunks {
  readonly #connection: JetStreamConnection
  #orphans: readonly string[] = []

  constructor(connection: JetStreamConnection) {
    this.#connection = connection
  }

  async scan(): Promise<void> {
    const { manager, names } = this.#connection
    const filter = { subjects_filter: `$O.${names.bucket}.C.>` }
    const { state } = await manager.streams.info(`OBJ_${names.bucket}`, filter)
    this.#orphans = await this.#filterOrphans(Object.keys(state.subjects ?? {}))
  }

  /** Removes the recorded chunks, except those of snapshots that have been completed since. */
  async remove(): Promise<void> {
    const { manager, names } = this.#connection
    const orphans = this.#orphans.length === 0 ? [] : await this.#filterOrphans(this.#orphans)
    this.#orphans = []
    for (const filter of orphans) await manager.streams.purge(`OBJ_${names.bucket}`, { filter })
  }

  async #filterOrphans(subjects: readonly string[]): Promise<string[]> {
    const { snapshots, names } = this.#connection
    const completeSnapshots = new Set((await snapshots.list()).map(({ nuid }) => `$O.${names.bucket}.C.${nuid}`))
    return subjects.filter(subject => !completeSnapshots.has(subject))
  }
}

/** Converts blocks to a web stream that pulls them one by one. */
export function toReadable(blocks: Iterable<Uint8Array>): {
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
    controller?.error(new StreamError('lost', 'writing the snapshot was cancelled'))
  }
  return { readable, abort }
}

export async function* readChunks(readable: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = readable.getReader()
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value
  } finally {
    await reader.cancel()
  }
}
