import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { type Observable, Subject, takeUntil } from 'rxjs'
import { fromHex, toHex } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { type DumpLine, DumpWriter, dumpLinesOf } from '../../node/dump/codec.js'
import { type ConsoleStore, isAttached, withBroker } from './console-store.js'
import type {
  BrokerLogin,
  ClientAnswer,
  KeyFacts,
  KeysAnswer,
  LoadAnswer,
  ResetAnswer,
  StoreFacts,
  UsageAnswer,
} from './contract.js'
import { bytesOf, HttpProblem, type JsonObject, reachableBy, readJson } from './http.js'
import { type StatsLines, statsLines } from './stats-stream.js'

/** What the API serves. */
export interface ApiHost {
  readonly store: ConsoleStore
  /** What a reset makes of the store. */
  readonly seed: readonly DumpLine[] | undefined
  /** Version of this package. */
  readonly version: string
  readonly clock: Clock
  /** Where browsers find the broker. */
  readonly wsUrl: string
  /** How the page logs in there, if not as usual. */
  readonly brokerLogin: BrokerLogin | undefined
}

/** A request that may be answered. */
export interface Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly path: string
  /** Host by which we were asked. */
  readonly hostName: string
}

/** Answers by itself, or with what is then sent as JSON. */
type Route = (call: Call) => Promise<object | undefined>

/** What is worth being put on record. */
const ORDERS: ReadonlySet<string> = new Set([
  'GET /api/dump',
  'POST /api/load',
  'POST /api/reset',
  'POST /api/cut',
  'POST /api/freeze',
  'POST /api/restart',
])
const MOST_STREAMS = 16
const MOST_DUMPS = 4

/** The requests below `/api/`, as `contract.ts` has them. */
export class Api {
  readonly #host: ApiHost
  readonly #statsLines$: Observable<StatsLines>
  readonly #routes: ReadonlyMap<string, Route>
  readonly #closed$ = new Subject<void>()

  constructor(host: ApiHost) {
    this.#host = host
    this.#statsLines$ = statsLines(host.store, host.clock)
    this.#routes = this.#makeRoutes(host)
  }

  /** Ends what does not end by itself. */
  close(): void {
    this.#closed$.next()
  }

  /** Whether a request has the store do something, or takes all that is in it. */
  isOrder({ method = '' }: IncomingMessage, path: string): boolean {
    return ORDERS.has(`${method} ${path}`)
  }

  /** Answers a request; raises {@link HttpProblem}, and errors of the store. */
  async answer(call: Call): Promise<void> {
    const answer = await this.#routeOf(call)(call)
    if (answer === undefined) return
    call.response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  }

  #makeRoutes({ store, seed }: ApiHost): ReadonlyMap<string, Route> {
    const streams = new ConcurrencyLimit('streams', MOST_STREAMS)
    const dumps = new ConcurrencyLimit('dumps', MOST_DUMPS)
    const loads = new ConcurrencyLimit('load', 1)
    return new Map<string, Route>([
      ['GET /api/store', async ({ hostName }) => this.#facts(hostName)],
      ['GET /api/stream', async ({ response }) => streams.during(async () => this.#stream(response))],
      [
        'GET /api/dump',
        async ({ response }) => dumps.during(async () => sendDump(store, response)).then(() => undefined),
      ],
      ['POST /api/load', async ({ request }) => loads.during(async () => takeDump(store, request))],
      ['POST /api/reset', async () => loads.during(async () => reset(store, seed))],
      ['GET /api/usage', async () => usageFacts(store)],
      ['POST /api/keys', async ({ request }) => keyFacts(store, await readJson(request))],
      ['POST /api/client', async ({ request }) => clientFacts(store, await readJson(request))],
      ['POST /api/cut', order(body => disconnectClient(store, body))],
      ['POST /api/freeze', order(body => freeze(store, body))],
      ['POST /api/restart', order(body => restart(store, body))],
    ])
  }

  #routeOf({ request: { method = '' }, path }: Call): Route {
    const route = this.#routes.get(`${method} ${path}`)
    if (route !== undefined) return route
    const allow = ['GET', 'POST'].filter(other => this.#routes.has(`${other} ${path}`)).join(', ')
    if (allow === '') throw new HttpProblem(404, 'not-found', 'There is no such request')
    throw new HttpProblem(405, 'method', `Only ${allow} goes here`, { allow })
  }

  #facts(hostName: string): StoreFacts {
    const { store, seed, version, wsUrl, brokerLogin } = this.#host
    return {
      url: reachableBy(store.url, hostName),
      wsUrl: reachableBy(wsUrl, hostName),
      ...(isAttached(store) && { attached: true }),
      ...(brokerLogin && { brokerLogin }),
      seeded: seed !== undefined,
      version,
    }
  }

  /** Until its reader goes. One that does not read misses pulses, and gets the clients as they are by then. */
  #stream(response: ServerResponse): Promise<undefined> {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    let told = ''
    const subscription = this.#statsLines$.pipe(takeUntil(this.#closed$)).subscribe({
      next: ({ pulse, clients }) => {
        if (response.writableNeedDrain) return
        response.write(clients === told ? pulse : pulse + clients)
        told = clients
      },
      complete: () => response.end(),
    })
    return new Promise(resolve => {
      response.once('close', () => {
        subscription.unsubscribe()
        resolve(undefined)
      })
    })
  }
}

/** A request to do something, of which there is nothing to tell. */
const order =
  (act: (body: JsonObject) => Promise<void> | void): Route =>
  async ({ request }) => {
    await act(await readJson(request))
    return {}
  }

const LONGEST_FREEZE = 600_000

/** Cuts a client's connection. Raises {@link HttpProblem} when there is no such client, or the broker is not the store's. */
function disconnectClient(store: ConsoleStore, { clientId }: JsonObject): void {
  if (typeof clientId !== 'string') throw new HttpProblem(400, 'argument', '`clientId` must be a text')
  if (!withBroker(store).cut(clientId)) throw noSuchClient()
}

/** Freezes the store, or lets it go on. Raises {@link HttpProblem} for more than ten minutes, and for an attached one. */
function freeze(store: ConsoleStore, { ms }: JsonObject): void {
  if (typeof ms !== 'number' || !Number.isInteger(ms) || ms < 0 || ms > LONGEST_FREEZE) {
    throw new HttpProblem(400, 'argument', `\`ms\` must be a whole number from 0 to ${LONGEST_FREEZE}`)
  }
  withBroker(store).freeze(ms)
}

/** Restarts the store; settles when it listens again. Raises {@link HttpProblem} for an attached one. */
async function restart(store: ConsoleStore, { keys }: JsonObject): Promise<void> {
  if (keys !== 'kept' && keys !== 'lost') throw new HttpProblem(400, 'argument', '`keys` must be `kept` or `lost`')
  await withBroker(store).restart({ keys })
}

/** So many at a time, and no more. */
class ConcurrencyLimit {
  readonly #what: string
  readonly #most: number
  #taken = 0

  constructor(what: string, most: number) {
    this.#what = what
    this.#most = most
  }

  /** Runs a task when there is a seat; raises {@link HttpProblem} when there is none. */
  async during<T>(task: () => Promise<T>): Promise<T> {
    if (this.#taken >= this.#most) throw new HttpProblem(503, 'busy', `At most ${this.#most} ${this.#what} at a time`)
    this.#taken++
    try {
      return await task()
    } finally {
      this.#taken--
    }
  }
}

/** Characters that are written at a time. */
const CHUNK = 65_536

/** Sends all keys, at the pace of the reader. Raises {@link HttpProblem} while the store does not serve: there would be none. */
async function sendDump(store: ConsoleStore, response: ServerResponse): Promise<void> {
  if (store.startedAt === undefined)
    throw new HttpProblem(503, 'closed', 'The store does not serve now, and has no keys; dump the one that does')
  response.writeHead(200, {
    'content-type': 'application/x-ndjson',
    'content-disposition': 'attachment; filename="dump.ndjson"',
  })
  await pipeline(chunks(store.dump()), response)
}

function* chunks(lines: Iterable<DumpLine>): Generator<string, void> {
  const writer = new DumpWriter()
  let chunk = writer.begin()
  for (const line of lines) {
    chunk += writer.line(line)
    if (chunk.length < CHUNK) continue
    yield chunk
    chunk = ''
  }
  yield chunk + writer.end()
}

/** Loads the dump in the body of a request. */
async function takeDump(store: ConsoleStore, request: IncomingMessage): Promise<LoadAnswer> {
  const { loaded, versionsKept, expired } = await store.load(dumpLinesOf(bytesOf(request)))
  return { loaded, versionsKept, expired }
}

/** Makes the store what the seed is. Raises {@link HttpProblem} when there is none. */
async function reset(store: ConsoleStore, seed: readonly DumpLine[] | undefined): Promise<ResetAnswer> {
  if (seed === undefined) throw new HttpProblem(409, 'no-seed', 'The store was started without a seed')
  const { deleted, loaded } = await store.load(seed, { replace: true })
  return { deleted, set: loaded }
}

/** Most keys in a request or an answer. */
const MOST_KEYS = 1_000

/** What a GET does not tell of keys. Raises {@link HttpProblem} for malformed ids. */
function keyFacts(store: ConsoleStore, { ids }: JsonObject): KeysAnswer {
  if (!Array.isArray(ids) || ids.length > MOST_KEYS) {
    throw new HttpProblem(400, 'argument', `\`ids\` must be an array of ${MOST_KEYS} at most`)
  }
  return { keys: ids.flatMap((id: unknown) => factsOf(store, id) ?? []) }
}

function factsOf(store: ConsoleStore, id: unknown): KeyFacts | undefined {
  const key = typeof id === 'string' ? fromHex(id) : undefined
  if (key === undefined) throw new HttpProblem(400, 'argument', 'An id is a key in Base16')
  const stored = store.peek(key)
  if (stored === undefined) return undefined
  const { value, version, expiresAt, fencingToken, watchers } = stored
  return {
    id: toHex(key),
    version,
    size: value.length,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(fencingToken !== undefined && { fencingToken }),
    watchers,
  }
}

/** What a client watches. Raises {@link HttpProblem} when there is no such client. */
function clientFacts(store: ConsoleStore, { clientId }: JsonObject): ClientAnswer {
  const client = store.clients.find(candidate => candidate.clientId === clientId)
  if (client === undefined) throw noSuchClient()
  const ids: string[] = []
  for (const key of store.watchedBy(client.clientId)) {
    if (ids.length >= MOST_KEYS) break
    ids.push(toHex(key))
  }
  return { clientId: client.clientId, watches: client.watches, ids }
}

/** What there is of what there are quotas of. Raises {@link HttpProblem} for an attached store. */
function usageFacts(store: ConsoleStore): UsageAnswer {
  const { stats, usage, addresses } = withBroker(store)
  return {
    total: stats,
    principals: Array.from(usage).slice(0, MOST_KEYS),
    addresses: Array.from(addresses).slice(0, MOST_KEYS),
  }
}

/** The refusal of a client id that no client has. */
const noSuchClient = (): HttpProblem => new HttpProblem(404, 'not-found', 'There is no such client')
