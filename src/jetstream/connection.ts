import { readFile } from 'node:fs/promises'
import type { JetStreamManager } from '@nats-io/jetstream'
import type { ObjectStore } from '@nats-io/obj'
import type { NatsConnection } from '@nats-io/transport-node'
import { ArgumentError, reason } from '../base/errors.js'
import { StreamError } from '../cluster/stream.js'
import type { JetStreamSettings } from './options.js'
import type { NatsPackages } from './packages.js'

/** A connection to NATS, and what a store has there. */
export interface Opened {
  readonly nats: NatsConnection
  readonly manager: JetStreamManager
  readonly snapshots: ObjectStore
  readonly names: Names
}

/** Code of an error of the API of JetStream. */
const STREAM_NOT_FOUND = 10_059

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
  return connect({
    servers,
    name: `rx-statestore ${name} ${nodeId}`,
    ...(user !== undefined && { user }),
    ...(pass !== undefined && { pass }),
    ...(token !== undefined && { token }),
    ...(authenticator !== undefined && { authenticator }),
    ...(tls !== undefined && { tls }),
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
}

/** Makes what a store needs at NATS, or finds it. Rejects with `argument` when what is there is not fit for it. */
export async function prepare(
  nats: NatsConnection,
  { name, replicas }: JetStreamSettings,
  { jetstream, objects }: NatsPackages,
): Promise<Opened> {
  const names = namesOf(name)
  const manager = await jetstream.jetstreamManager(nats)
  const storage = jetstream.StorageType.File
  try {
    check(await manager.streams.info(names.stream), replicas)
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
  const store = new objects.Objm(nats)
  return { nats, manager, names, snapshots: await store.create(names.bucket, { storage, replicas }) }
}

/** Throws {@link ArgumentError} unless a stream keeps what it has taken, on so many servers. */
function check({ config }: Awaited<ReturnType<JetStreamManager['streams']['info']>>, replicas: number): void {
  const { name, storage, num_replicas, retention, max_age, max_msgs, max_bytes } = config
  const forgets = max_age > 0 || max_msgs > 0 || max_bytes > 0 || retention !== 'limits'
  if (storage !== 'file' || forgets)
    throw new ArgumentError(
      `the stream ${name} does not keep all it has taken: it has to have file storage and no limits of age, messages or bytes`,
    )
  if (num_replicas !== replicas)
    throw new ArgumentError(
      `the stream ${name} has ${num_replicas} replicas, not ${replicas}: say so, or change the stream with the tools of NATS`,
    )
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
