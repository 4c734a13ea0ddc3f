import { readFile } from 'node:fs/promises'
import type { JetStreamManager } from '@nats-io/jetstream'
import type { ObjectStore } from '@nats-io/obj'
import type { NatsConnection } from '@nats-io/transport-node'
import { ArgumentError, reason } from '../../../core/util/errors.js'
import { StreamError } from '../cluster/stream.js'
import { checkKept, checkStream } from './found.js'
import type { JetStreamSettings } from './options.js'
import type { NatsPackages } from './packages.js'
import { cutWhenStale } from './stale.js'

/** A connection to NATS, and what a store has there. */
export interface Opened {
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
  cutWhenStale(nats)
  return nats
}

/** Makes what a store needs at NATS, or finds it. Rejects with `argument` when what is there is not fit for it. */
export async function prepare(
  nats: NatsConnection,
  { name, replicas }: JetStreamSettings,
  { jetstream, objects }: NatsPackages,
): Promise<Opened> {
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
