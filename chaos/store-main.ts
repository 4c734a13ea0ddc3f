// This process runs a store, or a node of a store, that can be killed. It reports its state over the channel to its
// parent.

import { createHash } from 'node:crypto'
import { type JetStreamOptions, jetStreamLog } from 'rx-statestore/jetstream'
import { attach, serve } from 'rx-statestore/server'
import { Journal } from './journal.js'
import { type Resources, resourcesNow } from './resources.js'
import { wholeLog } from './whole-log.js'

export interface StoreOptions {
  /** URL of another broker, to which the store is attached */
  readonly broker?: string
  readonly port?: number
  readonly wsPort?: number
  readonly tls?: { readonly cert: string; readonly key: string }
  readonly data?: string
  readonly log?: JetStreamOptions
  /** file for the {@link Journal} */
  readonly journal?: string
}

export interface StoreStats extends Resources {
  readonly connections: number
  /** registrations; a watched glob counts as 100 */
  readonly watches: number
  readonly watched: readonly (readonly [client: string, keys: readonly string[]])[]
  /** hash of all keys */
  readonly hash: string
}

export type StoreMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly code: string; readonly message: string }
  | { readonly type: 'fault'; readonly message: string }
  | { readonly type: 'storage'; readonly state: string }
  | { readonly type: 'stats'; readonly stats: StoreStats }

/** So few messages between snapshots that a run contains many. The default is 250,000. */
const SNAPSHOT_MESSAGES = 1_500

const { broker, journal: path, log, ...options }: StoreOptions = JSON.parse(process.argv[2] ?? '')
const journal = path === undefined ? undefined : new Journal(path)

const send = (message: StoreMessage) => process.send?.(message)
const textOf = (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error))
function fail(error: unknown) {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  send({ type: 'failed', code, message: textOf(error) })
  process.exitCode = 1
  process.disconnect?.()
}

async function attachTo(url: string) {
  const reconnect = { initial: 20, max: 400 }
  const store = await attach(url, { ...options, keepAlive: 2_000, connectTimeout: 2_000, reconnect })
  let isNew = true
  store.state$.subscribe(({ state, ...rest }) => {
    // The store has not received a request yet.
    if (state === 'serving' && isNew) journal?.recordRecovered(store)
    // The previous storage is closed, and is reopened for the next active period.
    if (state === 'serving' || state === 'standby') isNew = state === 'standby'
    if (state === 'closed' && 'cause' in rest && rest.cause !== undefined) fail(rest.cause)
  })
  return store
}

async function serveHere() {
  const whole = log && wholeLog(jetStreamLog(log))
  const shared = whole && { ...whole, settings: { ...whole.settings, snapshots: { messages: SNAPSHOT_MESSAGES } } }
  const store = await serve({ ...options, ...(shared && { log: shared }) })
  // At this point, no client can connect yet.
  if (options.data !== undefined) journal?.recordRecovered(store)
  return store
}

async function run() {
  const store = broker === undefined ? await serveHere() : await attachTo(broker)
  journal?.recordWrites(store)
  store.storage$.subscribe(({ state, error }) => {
    if (state === 'broken') fail(error)
    else send({ type: 'storage', state })
  })
  store.faults$.subscribe(({ error }) => send({ type: 'fault', message: textOf(error) }))
  process.on('message', () => {
    const keys = Array.from(store.dump(), line => JSON.stringify(line)).sort()
    const hash = createHash('sha256').update(keys.join('\n')).digest('hex')
    const watched = Array.from(
      store.clients,
      ({ clientId }) => [clientId, Array.from(store.watchedBy(clientId), key => Buffer.from(key).toString())] as const,
    )
    const { watches } = store.stats
    const stats = { ...resourcesNow(), connections: store.clients.length, watches, watched, hash }
    send({ type: 'stats', stats })
  })
  // The command line also handles SIGTERM in this way.
  process.once('SIGTERM', () => {
    store.close().then(() => process.exit(0), fail)
  })
  send({ type: 'ready' })
}

process.on('disconnect', () => process.exit())
await run().catch(fail)
