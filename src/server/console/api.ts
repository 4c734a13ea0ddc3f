import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { fromHex, toHex } from '../../core/util/bytes.js'
import type { Clock } from '../../core/util/clock.js'
import { type DumpLine, DumpWriter, dumpLinesOf } from '../../node/dump/codec.js'
import { HttpProblem } from '../../node/net/http-problem.js'
import { type ConsoleOptions, loginOf } from './console-options.js'
import { type ConsoleStore, isAttached, requireBroker, type StoreWithBroker } from './console-store.js'
import type {
  ClientResponse,
  DisconnectRequest,
  FreezeRequest,
  KeyFacts,
  KeysResponse,
  LoadResponse,
  ResetResponse,
  RestartRequest,
  StoreFacts,
  UsageResponse,
} from './contract.js'
import { bodyOf, type JsonObject, readJson, replaceWildcardHost } from './http.js'
import { MetricsHistory } from './metrics-history.js'
import { StatsSampler } from './stats-stream.js'

export interface ApiOptions {
  readonly store: ConsoleStore
  /** The store's contents after a reset. */
  readonly seed: readonly DumpLine[] | undefined
  readonly version: string
  readonly clock: Clock
  readonly wsUrl: string
  /** The page's login at the broker. Default: the user `console` with the token. */
  readonly brokerLogin: ConsoleOptions['brokerLogin']
  readonly faults: boolean
}

export interface Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly path: string
  readonly hostName: string
  /** Writes a line of the audit log. @param refusal - the reason why the operation is not performed */
  readonly audit: (target: string, refusal?: string) => void
}

/** Handles a call. Returns the object to send as JSON, or `undefined` after sending the response itself. */
type Route = (call: Call) => Promise<object | undefined>

const AUDITED_REQUESTS: ReadonlySet<string> = new Set([
  'GET /api/dump',
  'POST /api/load',
  'POST /api/replace',
  'POST /api/reset',
])
const MAX_STREAMS = 16
const MAX_DUMPS = 4

/** Serves the requests below `/api/`. See `contract.ts`. */
export class Api {
  readonly #options: ApiOptions
  readonly #sampler: StatsSampler
  readonly #history: MetricsHistory
  readonly #routes: ReadonlyMap<string, Route>

  constructor(options: ApiOptions) {
    this.#options = options
    this.#sampler = new StatsSampler(options.store, options.clock)
    this.#history = new MetricsHistory(options.store, options.clock)
    this.#routes = this.#makeRoutes(options)
  }

  close(): void {
    this.#sampler.close()
    this.#history.close()
  }

  /** Handles a request. Throws {@link HttpProblem} and the store's errors. */
  async handle(call: Call): Promise<void> {
    const route = this.#routeOf(call)
    if (AUDITED_REQUESTS.has(nameOf(call))) call.audit(call.path)
    const result = await route(call)
    if (result === undefined) return
    call.response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(result))
  }

  #makeRoutes({ store, seed }: ApiOptions): ReadonlyMap<string, Route> {
    const streams = new ConcurrencyLimit('streams', MAX_STREAMS)
    const dumps = new ConcurrencyLimit('dumps', MAX_DUMPS)
    const loads = new ConcurrencyLimit('load', 1)
    return new Map<string, Route>([
      ['GET /api/store', async ({ hostName }) => this.#storeFacts(hostName)],
      ['GET /api/stream', async ({ response }) => streams.run(async () => this.#stream(response))],
      ['GET /api/dump', async ({ response }) => dumps.run(async () => sendDump(store, response)).then(() => undefined)],
      ['POST /api/load', async ({ request }) => loads.run(async () => loadDump(store, request, false))],
      ['POST /api/replace', async ({ request }) => loads.run(async () => loadDump(store, request, true))],
      ['POST /api/reset', async () => loads.run(async () => reset(store, seed))],
      ['GET /api/history', async ({ request }) => this.#history.since(sinceOf(request))],
      ['GET /api/usage', async () => usageFacts(store)],
      ['POST /api/keys', async ({ request }) => keyFacts(store, await readJson(request))],
      ['POST /api/client', async ({ request }) => clientFacts(store, await readJson(request))],
      ['POST /api/cut', this.#fault(cutOf, disconnectClient)],
      ['POST /api/freeze', this.#fault(freezeOf, (broker, { ms }) => broker.freeze(ms))],
      ['POST /api/restart', this.#fault(restartOf, (broker, options) => broker.restart(options))],
    ])
  }

  /**
   * Returns the route of a request that breaks the store. The audit log gets its line first, because the requester may
   * be among the clients that the fault disconnects.
   */
  #fault<T extends object>(
    parse: (body: JsonObject) => T,
    cause: (broker: StoreWithBroker, fault: T) => Promise<void> | void,
  ): Route {
    return async ({ request, path, audit }) => {
      const { store, faults } = this.#options
      const broker = requireBroker(store)
      if (!faults) {
        audit(path, NO_FAULTS)
        throw new HttpProblem(403, 'faults', `${NO_FAULTS}: serve the console with --faults, or \`faults: true\``)
      }
      const fault = parse(await readJson(request))
      audit(`${path} ${JSON.stringify(fault)}`)
      await cause(broker, fault)
      return {}
    }
  }

  #routeOf(call: Call): Route {
    const route = this.#routes.get(nameOf(call))
    if (route !== undefined) return route
    const { path } = call
    const allow = ['GET', 'POST'].filter(other => this.#routes.has(`${other} ${path}`)).join(', ')
    if (allow === '') throw new HttpProblem(404, 'not-found', 'Unknown request')
    throw new HttpProblem(405, 'method', `Use ${allow}`, { allow })
  }

  #storeFacts(hostName: string): StoreFacts {
    const { store, seed, version, wsUrl, brokerLogin: given, faults } = this.#options
    const brokerLogin = loginOf(given)
    return {
      url: replaceWildcardHost(store.url, hostName),
      wsUrl: replaceWildcardHost(wsUrl, hostName),
      ...(isAttached(store) && { attached: true }),
      ...(brokerLogin && { brokerLogin }),
      seeded: seed !== undefined,
      ...(faults && { faults: true }),
      version,
    }
  }

  /**
   * Streams statistics until the client disconnects. A slow reader misses samples, but receives the latest clients as
   * soon as it catches up.
   */
  #stream(response: ServerResponse): Promise<undefined> {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    let lastClients = ''
    const subscription = this.#sampler.lines$.subscribe({
      next: ({ sample, clients }) => {
        if (response.writableNeedDrain) return
        response.write(clients === lastClients ? sample : sample + clients)
        lastClients = clients
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

const nameOf = ({ request: { method = '' }, path }: Call): string => `${method} ${path}`

const MAX_FREEZE_MS = 600_000
const NO_FAULTS = 'This console cannot cause faults'

function cutOf({ clientId }: JsonObject): DisconnectRequest {
  if (typeof clientId === 'string') return { clientId }
  throw new HttpProblem(400, 'argument', '`clientId` must be a string')
}

/** Drops the connection of a client. Throws {@link HttpProblem} for an unknown client. */
function disconnectClient(broker: StoreWithBroker, { clientId }: DisconnectRequest): void {
  if (!broker.cut(clientId)) throw noSuchClient()
}

function freezeOf({ ms }: JsonObject): FreezeRequest {
  if (typeof ms === 'number' && Number.isInteger(ms) && ms >= 0 && ms <= MAX_FREEZE_MS) return { ms }
  throw new HttpProblem(400, 'argument', `\`ms\` must be an integer from 0 to ${MAX_FREEZE_MS}`)
}

function restartOf({ keys }: JsonObject): RestartRequest {
  if (keys === 'kept' || keys === 'lost') return { keys }
  throw new HttpProblem(400, 'argument', '`keys` must be `kept` or `lost`')
}

class ConcurrencyLimit {
  readonly #subject: string
  readonly #max: number
  #running = 0

  constructor(subject: string, max: number) {
    this.#subject = subject
    this.#max = max
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#max)
      throw new HttpProblem(503, 'busy', `At most ${this.#max} ${this.#subject} at a time; try again later`)
    this.#running++
    try {
      return await task()
    } finally {
      this.#running--
    }
  }
}

const CHUNK_CHARACTERS = 65_536

/** Streams all keys. Throws {@link HttpProblem} while the store does not serve, because the dump would be empty. */
async function sendDump(store: ConsoleStore, response: ServerResponse): Promise<void> {
  if (store.startedAt === undefined)
    throw new HttpProblem(503, 'closed', 'The store is not serving and has no keys; dump the active one')
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
    if (chunk.length < CHUNK_CHARACTERS) continue
    yield chunk
    chunk = ''
  }
  yield chunk + writer.end()
}

async function loadDump(store: ConsoleStore, request: IncomingMessage, replace: boolean): Promise<LoadResponse> {
  const { loaded, versionsKept, expired, deleted } = await store.load(dumpLinesOf(bodyOf(request)), { replace })
  return { loaded, versionsKept, expired, deleted }
}

/** Resets the store to the seed. Throws {@link HttpProblem} without a seed. */
async function reset(store: ConsoleStore, seed: readonly DumpLine[] | undefined): Promise<ResetResponse> {
  if (seed === undefined) throw new HttpProblem(409, 'no-seed', 'The store was started without a seed')
  const { deleted, loaded } = await store.load(seed, { replace: true })
  return { deleted, set: loaded }
}

const MAX_KEYS = 1_000

/** Returns the metadata that a GET of the keys lacks. Throws {@link HttpProblem} for malformed ids. */
function keyFacts(store: ConsoleStore, { ids }: JsonObject): KeysResponse {
  if (!Array.isArray(ids) || ids.length > MAX_KEYS) {
    throw new HttpProblem(400, 'argument', `\`ids\` must be an array of at most ${MAX_KEYS}`)
  }
  return { keys: ids.flatMap((id: unknown) => factsOf(store, id) ?? []) }
}

function factsOf(store: ConsoleStore, id: unknown): KeyFacts | undefined {
  const key = typeof id === 'string' ? fromHex(id) : undefined
  if (key === undefined) throw new HttpProblem(400, 'argument', 'An id must be a key in Base16')
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

/** Returns the keys that a client watches. Throws {@link HttpProblem} for an unknown client. */
function clientFacts(store: ConsoleStore, { clientId }: JsonObject): ClientResponse {
  const client = store.clients.find(candidate => candidate.clientId === clientId)
  if (client === undefined) throw noSuchClient()
  const ids: string[] = []
  for (const key of store.watchedBy(client.clientId)) {
    if (ids.length >= MAX_KEYS) break
    ids.push(toHex(key))
  }
  return { clientId: client.clientId, watches: client.watches, ids }
}

/** Returns the usage per principal and address. Throws {@link HttpProblem} for an attached store. */
function usageFacts(store: ConsoleStore): UsageResponse {
  const { stats, usage, addresses } = requireBroker(store)
  return {
    total: stats,
    principals: Array.from(usage).slice(0, MAX_KEYS),
    addresses: Array.from(addresses).slice(0, MAX_KEYS),
  }
}

/** Returns the parameter `since`, by default 0. Throws {@link HttpProblem} if it is not a time. */
function sinceOf({ url = '' }: IncomingMessage): number {
  const [, query] = url.split('?')
  const since = Number(new URLSearchParams(query).get('since') ?? 0)
  if (Number.isFinite(since)) return since
  throw new HttpProblem(400, 'argument', '`since` must be a time in ms since the Unix epoch')
}

const noSuchClient = (): HttpProblem => new HttpProblem(404, 'not-found', 'No client has this id')
