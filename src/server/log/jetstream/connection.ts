import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream'
import type { ObjectStore } from '@nats-io/obj'
import type { NatsConnection } from '@nats-io/transport-node'
import { filter, from, Observable } from 'rxjs'
import { isError } from '../../../core/util/built-in-types.js'
import { ArgumentError, reason } from '../../../core/util/errors.js'
import { formatUrl } from '../../../core/util/format-url.js'
import { StreamError } from '../cluster/stream.js'
import { authenticatorOf } from './nats-login.js'
import type { JetStreamOptions, JetStreamSettings } from './options.js'
import type { NatsPackages } from './packages.js'

/** A NATS connection and the NATS resources of a store. */
export interface JetStreamConnection {
  readonly nats: NatsConnection
  readonly manager: JetStreamManager
  readonly snapshots: ObjectStore
  /** Opens the bucket for snapshots, and recreates it if it was removed. */
  openBucket(): Promise<ObjectStore>
  readonly names: NatsNames
}

const STREAM_NOT_FOUND = 10_059

/** The minimum size of a message, which must leave room for a piece of an entry after its header. */
const MIN_MESSAGE_BYTES = 4_096

export interface NatsNames {
  readonly stream: string
  readonly subject: string
  readonly bucket: string
  nodeSubject(id: string): string
}

export const natsNames = (name: string): NatsNames => ({
  stream: `rxss_${name}`,
  subject: `rxss.${name}.log`,
  bucket: `rxss_${name}`,
  nodeSubject: id => `rxss.${name}.node.${id}`,
})

export async function connectToNats(settings: JetStreamSettings, packages: NatsPackages): Promise<NatsConnection> {
  const { servers, name, nodeId, login } = settings
  const { tls } = login
  const authenticator = authenticatorOf(login, packages.transport)
  const nats = await packages.transport.connect({
    servers,
    name: `rx-statestore ${name} ${nodeId}`,
    ...(authenticator !== undefined && { authenticator }),
    ...(tls !== undefined && { tls: tlsFilesOf(tls) }),
    timeout: 5_000,
    // With these settings, the client detects a dead server and tries the next one within a few seconds.
    pingInterval: 3_000,
    maxPingOut: 2,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    ignoreAuthErrorAbort: true,
    // Without this option, each sent message would create an `Error` for its stack trace.
    noAsyncTraces: true,
  })
  destroyWhenStale(nats)
  return nats
}

/** Omits undefined files, because NATS would try to read a file given as `undefined`. */
const tlsFilesOf = ({ caFile, certFile, keyFile }: NonNullable<JetStreamOptions['tls']>) => ({
  ...(caFile !== undefined && { caFile }),
  ...(certFile !== undefined && { certFile }),
  ...(keyFile !== undefined && { keyFile }),
})

/** Creates or opens the NATS resources of a store. Rejects with `argument` if existing resources are not suitable. */
export async function prepareStream(
  nats: NatsConnection,
  { name, replicas }: JetStreamSettings,
  { jetstream, objects }: NatsPackages,
): Promise<JetStreamConnection> {
  const { max_payload = MIN_MESSAGE_BYTES } = nats.info ?? {}
  if (max_payload < MIN_MESSAGE_BYTES)
    throw new ArgumentError(
      `NATS accepts messages of at most ${max_payload} bytes, but nodes need ${MIN_MESSAGE_BYTES}: increase max_payload`,
    )
  const names = natsNames(name)
  const manager = await jetstream.jetstreamManager(nats)
  const storage = jetstream.StorageType.File
  const find = async (stream: string): Promise<StreamInfo | undefined> => {
    try {
      return await manager.streams.info(stream)
    } catch (error) {
      if (error instanceof jetstream.JetStreamApiError && error.code === STREAM_NOT_FOUND) return undefined
      throw error
    }
  }
  // Nodes create the stream before the bucket. So if only the bucket exists, the stream was removed.
  const bucket = await find(`OBJ_${names.bucket}`)
  const stream = await find(names.stream)
  if (bucket !== undefined) checkRetention(bucket, replicas)
  if (stream !== undefined) checkStream(stream, names.subject, replicas)
  else if (bucket !== undefined) throw streamRemovedError(names)
  else
    await manager.streams.add({
      name: names.stream,
      subjects: [names.subject],
      storage,
      num_replicas: replicas,
      retention: jetstream.RetentionPolicy.Limits,
      discard: jetstream.DiscardPolicy.New,
      // Nodes detect later duplicates by themselves.
      duplicate_window: 120 * 1e9,
    })
  const openBucket = async (): Promise<ObjectStore> =>
    new objects.Objm(nats).create(names.bucket, { storage, replicas })
  return { nats, manager, names, snapshots: await openBucket(), openBucket }
}

/**
 * Returns the error for a removed stream. A node must not create the stream again, because the other nodes would then
 * stop and lose their keys.
 */
const streamRemovedError = ({ stream, bucket }: NatsNames): StreamError =>
  new StreamError(
    'lost',
    `the stream ${stream} was removed, but not the bucket OBJ_${bucket}: save the keys of a running node with ` +
      '`rx-statestore dump`, stop all nodes, remove the bucket, start the nodes and load the keys',
  )

/** Returns whether only the operator can fix an error, so that retrying is pointless. */
export const isPermanentError = (error: unknown): boolean =>
  error instanceof ArgumentError ||
  (isError(error) && ['AuthorizationError', 'PermissionViolationError', 'ENOENT'].includes(codeOf(error)))

const codeOf = (error: Error): string => ('code' in error && error.code === 'ENOENT' ? 'ENOENT' : error.name)

export const connectTimeoutError = ({ servers, connectTimeout }: JetStreamSettings, cause: unknown): StreamError =>
  new StreamError(
    'lost',
    `none of the NATS servers ${servers.map(formatUrl).join(', ')} was usable for the log within ${connectTimeout} ms: ${reason(cause)}`,
    { cause },
  )

/**
 * Destroys the socket of a connection that the NATS client found to be stale, so that the client tries another server.
 * The client intends to try another server by itself, but first waits for an empty write, which never completes if the
 * peer has stopped reading and the socket buffer is full. The client would stay with that server and buffer messages in
 * memory until TCP times out.
 */
export function destroyWhenStale(nats: NatsConnection): void {
  const statuses$ = from(nats.status()).pipe(filter(({ type }) => type === 'staleConnection'))
  // The statuses end with the connection. If they fail, only this workaround is missing.
  statuses$.subscribe({ next: () => socketOf(nats)?.destroy(), error: () => undefined })
}

/** Keeps the error with which NATS rejects a login, because requests then only time out. */
export class LoginMonitor {
  #error: Error | undefined

  constructor(nats: NatsConnection) {
    from(nats.status()).subscribe({
      next: status => {
        if (status.type === 'error' && status.error.name === 'AuthorizationError') this.#error = status.error
        if (status.type === 'reconnect') this.#error = undefined
      },
      // The statuses end with the connection.
      error: () => undefined,
    })
  }

  /** The error, or `undefined` while NATS accepts the login. */
  get error(): Error | undefined {
    return this.#error
  }
}

/** Closes a connection and destroys its socket. `close` would leave a connection attempt to a hanging server open. */
export async function closeConnection(nats: NatsConnection): Promise<void> {
  await nats.close()
  socketOf(nats)?.destroy()
}

interface Socket {
  destroy(): void
}

/** Returns a connection's socket, for which NATS has no public accessor. */
function socketOf(nats: NatsConnection): Socket | undefined {
  const socket = ['protocol', 'transport', 'socket'].reduce<unknown>(
    (inside, name) => (typeof inside === 'object' && inside !== null ? Reflect.get(inside, name) : undefined),
    nats,
  )
  return isSocket(socket) ? socket : undefined
}

const isSocket = (inside: unknown): inside is Socket =>
  typeof inside === 'object' && inside !== null && 'destroy' in inside && typeof inside.destroy === 'function'

/** The names of NATS errors that a retry cannot fix. */
const REFUSED_ERRORS = new Set(['InvalidArgumentError', 'PermissionViolationError', 'AuthorizationError'])

export function streamError(message: string, cause: unknown): StreamError {
  if (cause instanceof StreamError) return cause
  const isRefused = isError(cause) && REFUSED_ERRORS.has(cause.name)
  const why = isError(cause) && cause.name === 'JetStreamNotEnabled' ? NO_RESPONDER : reason(cause)
  return new StreamError(isRefused ? 'refused' : 'lost', `${message}: ${why}`, { cause })
}

/** The NATS client reports only `jetstream is not enabled`. */
const NO_RESPONDER = 'no NATS server accepts it; the stream has no leader or was removed, or a disk is full'

/**
 * Runs a task on subscription and emits its result.
 *
 * @param message - description of the failed operation
 */
export const fromTask = <T>(message: string, task: () => Promise<T>): Observable<T> =>
  new Observable(subscriber => {
    task().then(
      value => {
        subscriber.next(value)
        subscriber.complete()
      },
      cause => subscriber.error(streamError(message, cause)),
    )
  })

/** Throws {@link ArgumentError} if a stream does not retain all messages or has another number of replicas. */
export function checkRetention({ config }: StreamInfo, replicas: number): void {
  const { name, storage, num_replicas, retention, max_age, max_msgs, max_bytes, max_msgs_per_subject } = config
  const dropsMessages =
    max_age > 0 || max_msgs > 0 || max_bytes > 0 || max_msgs_per_subject > 0 || retention !== 'limits'
  if (storage !== 'file' || dropsMessages)
    throw new ArgumentError(
      `the stream ${name} does not retain all messages: give it file storage and no limits on age, messages or bytes`,
    )
  if (num_replicas !== replicas)
    throw new ArgumentError(
      `the stream ${name} has ${num_replicas} replicas, not ${replicas}: set \`replicas\` to that number, or change the stream with the NATS tools`,
    )
}

/**
 * Throws {@link ArgumentError} if a stream is not suitable as a store's log. A suitable stream retains all
 * messages, accepts only the nodes' subject, and can be trimmed.
 */
export function checkStream(info: StreamInfo, subject: string, replicas: number): void {
  checkRetention(info, replicas)
  const { name, subjects = [], max_msg_size, deny_purge, sealed, no_ack, mirror, sources } = info.config
  const isDedicated = subjects.length === 1 && subjects[0] === subject && mirror === undefined && sources === undefined
  if (!isDedicated)
    throw new ArgumentError(`the stream ${name} is not the log of a store: it must have ${subject} as its only subject`)
  if (max_msg_size > 0 && max_msg_size < MIN_MESSAGE_BYTES)
    throw new ArgumentError(
      `the stream ${name} accepts messages of at most ${max_msg_size} bytes, but nodes need ${MIN_MESSAGE_BYTES}: remove its max_msg_size`,
    )
  if (deny_purge || sealed || no_ack)
    throw new ArgumentError(
      `the stream ${name} cannot be used: it is sealed, does not acknowledge messages, or denies purging`,
    )
}
