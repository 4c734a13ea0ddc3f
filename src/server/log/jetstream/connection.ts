import { readFile } from 'node:fs/promises'
import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream'
import type { ObjectStore } from '@nats-io/obj'
import type { NatsConnection } from '@nats-io/transport-node'
import { filter, from, Observable } from 'rxjs'
import { ArgumentError, reason } from '../../../core/util/errors.js'
import { StreamError } from '../cluster/stream.js'
import type { JetStreamOptions, JetStreamSettings } from './options.js'
import type { NatsPackages } from './packages.js'

/** A connection to NATS, and what a store has there. */
export interface JetStreamConnection {
  readonly nats: NatsConnection
  readonly manager: JetStreamManager
  readonly snapshots: ObjectStore
  /** Where snapshots are, made again if somebody has removed it. */
  bucket(): Promise<ObjectStore>
  readonly names: Names
}

/** Code of an error of the API of JetStream. */
const STREAM_NOT_FOUND = 10_059

/** What is before an entry's bytes in a message has to leave room for some of them; bytes. */
const SMALLEST_MESSAGE = 4_096

/** What belongs to a store. */
export interface Names {
  readonly stream: string
  readonly subject: string
  readonly bucket: string
  /** Where a node answers for itself. */
  node(id: string): string
}

/** The names of what belongs to a store. */
export const namesOf = (name: string): Names => ({
  stream: `rxss_${name}`,
  subject: `rxss.${name}.log`,
  bucket: `rxss_${name}`,
  node: id => `rxss.${name}.node.${id}`,
})

/** Connects to a NATS server that works. Rejects with what went wrong. */
export async function connectTo(settings: JetStreamSettings, packages: NatsPackages): Promise<NatsConnection> {
  const { servers, name, nodeId, login } = settings
  const { user, pass, token, credsFile, nkeyFile, tls } = login
  const { connect, credsAuthenticator, nkeyAuthenticator } = packages.transport
  const authenticator =
    credsFile !== undefined
      ? credsAuthenticator(await readFile(credsFile))
      : nkeyFile !== undefined
        ? nkeyAuthenticator(new TextEncoder().encode((await readFile(nkeyFile, 'utf8')).trim()))
        : undefined
  const nats = await connect({
    servers,
    name: `rx-statestore ${name} ${nodeId}`,
    ...(user !== undefined && { user }),
    ...(pass !== undefined && { pass }),
    ...(token !== undefined && { token }),
    ...(authenticator !== undefined && { authenticator }),
    ...(tls !== undefined && { tls: tlsFilesOf(tls) }),
    timeout: 5_000,
    // A server that is gone is noticed soon, and another one is found soon.
    pingInterval: 3_000,
    maxPingOut: 2,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    ignoreAuthErrorAbort: true,
    // An error is made for each message that is sent, in case.
    noAsyncTraces: true,
  })
  cutWhenStale(nats)
  return nats
}

/** NATS would read a file that is `undefined`. */
const tlsFilesOf = ({ caFile, certFile, keyFile }: NonNullable<JetStreamOptions['tls']>) => ({
  ...(caFile !== undefined && { caFile }),
  ...(certFile !== undefined && { certFile }),
  ...(keyFile !== undefined && { keyFile }),
})

/** Makes what a store needs at NATS, or finds it. Rejects with `argument` when what is there is not fit for it. */
export async function prepare(
  nats: NatsConnection,
  { name, replicas }: JetStreamSettings,
  { jetstream, objects }: NatsPackages,
): Promise<JetStreamConnection> {
  const { max_payload = SMALLEST_MESSAGE } = nats.info ?? {}
  if (max_payload < SMALLEST_MESSAGE)
    throw new ArgumentError(
      `NATS takes messages of ${max_payload} bytes at most (max_payload): nodes need ${SMALLEST_MESSAGE}`,
    )
  const names = namesOf(name)
  const manager = await jetstream.jetstreamManager(nats)
  const storage = jetstream.StorageType.File
  try {
    checkStream(await manager.streams.info(names.stream), names.subject, max_payload, replicas)
  } catch (error) {
    const isMissing = error instanceof jetstream.JetStreamApiError && error.code === STREAM_NOT_FOUND
    if (!isMissing) throw error
    await manager.streams.add({
      name: names.stream,
      subjects: [names.subject],
      storage,
      num_replicas: replicas,
      retention: jetstream.RetentionPolicy.Limits,
      discard: jetstream.DiscardPolicy.New,
      // What comes again later than this is told apart by the nodes themselves.
      duplicate_window: 120 * 1e9,
    })
  }
  const bucket = async (): Promise<ObjectStore> => new objects.Objm(nats).create(names.bucket, { storage, replicas })
  const snapshots = await bucket()
  // One that is there is taken as it is.
  checkKept((await snapshots.status()).streamInfo, replicas)
  return { nats, manager, names, snapshots, bucket }
}

/** Whether an error is one that the operator has to see to, and trying again will not help. */
export const isFinal = (error: unknown): boolean =>
  error instanceof ArgumentError ||
  (error instanceof Error && ['AuthorizationError', 'PermissionViolationError', 'ENOENT'].includes(codeOf(error)))

const codeOf = (error: Error): string => ('code' in error && error.code === 'ENOENT' ? 'ENOENT' : error.name)

/** Why it did not come about within its time. */
export const cannotConnect = ({ servers, connectTimeout }: JetStreamSettings, cause: unknown): StreamError =>
  new StreamError(
    'lost',
    `no NATS server of ${servers.join(', ')} could be used for the log within ${connectTimeout} ms: ${reason(cause)}`,
    { cause },
  )

/**
 * Cuts a connection that its client has found to be stale, so that another server is looked for. The client means to do so
 * itself, but first waits for an empty write, which is never done when the other end has not read for so long that the
 * system takes no more: it would stay with that server, and gather in memory what it sends, until TCP gives up.
 */
export function cutWhenStale(nats: NatsConnection): void {
  const statuses$ = from(nats.status()).pipe(filter(({ type }) => type === 'staleConnection'))
  // It ends with the connection, and without it nothing is worse than it was.
  statuses$.subscribe({ next: () => socketOf(nats)?.destroy(), error: () => undefined })
}

/** Closes a connection. One that it was about to make, to a server that hangs, it would leave open for ever. */
export async function closeWhole(nats: NatsConnection): Promise<void> {
  await nats.close()
  socketOf(nats)?.destroy()
}

interface Socket {
  destroy(): void
}

/** The socket of a connection, which has no public name. */
function socketOf(nats: NatsConnection): Socket | undefined {
  const socket = ['protocol', 'transport', 'socket'].reduce<unknown>(
    (inside, name) => (typeof inside === 'object' && inside !== null ? Reflect.get(inside, name) : undefined),
    nats,
  )
  return isSocket(socket) ? socket : undefined
}

const isSocket = (inside: unknown): inside is Socket =>
  typeof inside === 'object' && inside !== null && 'destroy' in inside && typeof inside.destroy === 'function'

/** Names of errors of NATS after which the same would fail again. */
const REFUSED = new Set(['InvalidArgumentError', 'PermissionViolationError', 'AuthorizationError'])

/** An error of NATS as one of a stream. */
export function streamError(what: string, cause: unknown): StreamError {
  if (cause instanceof StreamError) return cause
  const isRefused = cause instanceof Error && REFUSED.has(cause.name)
  return new StreamError(isRefused ? 'refused' : 'lost', `${what}: ${reason(cause)}`, { cause })
}

/** What a promise comes to, begun by the subscription; after its end nobody hears of it. @param what - for an error */
export const whenDone = <T>(what: string, begin: () => Promise<T>): Observable<T> =>
  new Observable(subscriber => {
    begin().then(
      value => {
        subscriber.next(value)
        subscriber.complete()
      },
      cause => subscriber.error(streamError(what, cause)),
    )
  })

/** Throws {@link ArgumentError} unless a stream keeps all it has taken, on so many servers. */
export function checkKept({ config }: StreamInfo, replicas: number): void {
  const { name, storage, num_replicas, retention, max_age, max_msgs, max_bytes, max_msgs_per_subject } = config
  const forgets = max_age > 0 || max_msgs > 0 || max_bytes > 0 || max_msgs_per_subject > 0 || retention !== 'limits'
  if (storage !== 'file' || forgets)
    throw new ArgumentError(
      `the stream ${name} does not keep all it has taken: it has to have file storage and no limits of age, messages or bytes`,
    )
  if (num_replicas !== replicas)
    throw new ArgumentError(
      `the stream ${name} has ${num_replicas} replicas, not ${replicas}: say so, or change the stream with the tools of NATS`,
    )
}

/**
 * Throws {@link ArgumentError} unless a stream can be the log of a store: it keeps all, takes what nodes send and nothing
 * else, and may be trimmed.
 *
 * @param largest - message that NATS takes, bytes
 */
export function checkStream(info: StreamInfo, subject: string, largest: number, replicas: number): void {
  checkKept(info, replicas)
  const { name, subjects = [], max_msg_size, deny_purge, sealed, no_ack, mirror, sources } = info.config
  const own = subjects.length === 1 && subjects[0] === subject && mirror === undefined && sources === undefined
  if (!own)
    throw new ArgumentError(
      `the stream ${name} is not the log of a store: it has to take what is sent to ${subject}, and that alone`,
    )
  if (max_msg_size > 0 && max_msg_size < largest)
    throw new ArgumentError(
      `the stream ${name} takes messages of ${max_msg_size} bytes at most, and nodes may send ${largest}: it has to have no limit of its own`,
    )
  if (deny_purge || sealed || no_ack)
    throw new ArgumentError(
      `the stream ${name} cannot be used: it is sealed, acknowledges nothing, or may not be trimmed behind snapshots`,
    )
}
