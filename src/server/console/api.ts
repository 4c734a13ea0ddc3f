import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Observable, Subject, takeUntil } from 'rxjs'
import type { Clock } from '../../core/util/clock.js'
import type { DumpLine } from '../../node/dump/dump-line.js'
import { type ConsoleStore, isAttached } from './console-store.js'
import type { BrokerLogin, StoreFacts } from './contract.js'
import { cut, freeze, restart } from './control.js'
import { clientFacts, keyFacts, usageFacts } from './facts.js'
import { reachableBy } from './headers.js'
import { type JsonObject, readJson } from './json-body.js'
import { type Moment, moments } from './live.js'
import { Refusal } from './refusal.js'
import { Seats } from './seats.js'
import { reset, sendDump, takeDump } from './transfer.js'

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
  readonly #moments$: Observable<Moment>
  readonly #routes: ReadonlyMap<string, Route>
  readonly #closed$ = new Subject<void>()

  constructor(host: ApiHost) {
    this.#host = host
    this.#moments$ = moments(host.store, host.clock)
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

  /** Answers a request; raises {@link Refusal}, and errors of the store. */
  async answer(call: Call): Promise<void> {
    const answer = await this.#routeOf(call)(call)
    if (answer === undefined) return
    call.response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  }

  #makeRoutes({ store, seed }: ApiHost): ReadonlyMap<string, Route> {
    const streams = new Seats('streams', MOST_STREAMS)
    const dumps = new Seats('dumps', MOST_DUMPS)
    const loads = new Seats('load', 1)
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
      ['POST /api/cut', order(body => cut(store, body))],
      ['POST /api/freeze', order(body => freeze(store, body))],
      ['POST /api/restart', order(body => restart(store, body))],
    ])
  }

  #routeOf({ request: { method = '' }, path }: Call): Route {
    const route = this.#routes.get(`${method} ${path}`)
    if (route !== undefined) return route
    const allow = ['GET', 'POST'].filter(other => this.#routes.has(`${other} ${path}`)).join(', ')
    if (allow === '') throw new Refusal(404, 'not-found', 'There is no such request')
    throw new Refusal(405, 'method', `Only ${allow} goes here`, { allow })
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
    const subscription = this.#moments$.pipe(takeUntil(this.#closed$)).subscribe({
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
