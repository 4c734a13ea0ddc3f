import { Observable } from 'rxjs'
import type {
  ClientResponse,
  HistoryResponse,
  KeysResponse,
  LoadResponse,
  Problem,
  ResetResponse,
  RestartRequest,
  StoreFacts,
  StreamLine,
} from '../../../src/server/console/contract.js'
import { NdjsonReader } from './ndjson.js'

/** The time after which a poll is abandoned, because a connection may fail silently, ms. The server waits as long. */
export const POLL_TIMEOUT_MS = 60_000

export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string

  constructor(status: number, { code, message }: Problem) {
    super(message)
    this.status = status
    this.code = code
  }
}

/**
 * The console's HTTP API as cold observables; unsubscribing aborts the request. The observables error with
 * {@link ApiError}, or with the network error of `fetch`.
 */
export class Api {
  readonly #base: string
  readonly #token: string

  constructor(base: string, token: string) {
    this.#base = base
    this.#token = token
  }

  facts(): Observable<StoreFacts> {
    return this.#call('store')
  }

  /** @param since - time after which samples are returned, ms */
  history(since: number): Observable<HistoryResponse> {
    return this.#call(`history?since=${since}`)
  }

  /** Emits the lines that each chunk completes, of which there may be none. */
  stream(): Observable<readonly StreamLine[]> {
    return this.#request('stream', {}, async (response, next) => {
      const reader = response.body?.getReader()
      const lines = new NdjsonReader()
      for (;;) {
        const chunk = await reader?.read()
        if (chunk?.value === undefined) return
        next(lines.read(chunk.value).filter(isStreamLine))
      }
    })
  }

  keys(ids: readonly string[]): Observable<KeysResponse> {
    return this.#call('keys', { ids })
  }

  client(clientId: string): Observable<ClientResponse> {
    return this.#call('client', { clientId })
  }

  disconnect(clientId: string): Observable<unknown> {
    return this.#call('cut', { clientId })
  }

  freeze(ms: number): Observable<unknown> {
    return this.#call('freeze', { ms })
  }

  restart(keys: RestartRequest['keys']): Observable<unknown> {
    return this.#call('restart', { keys })
  }

  reset(): Observable<ResetResponse> {
    return this.#call('reset', {})
  }

  dump(): Observable<Blob> {
    return this.#request('dump', {}, async (response, next) => next(await response.blob()))
  }

  load(dump: Blob): Observable<LoadResponse> {
    return this.#request('load', { method: 'POST', body: dump }, async (response, next) => next(await response.json()))
  }

  #call<T>(path: string, body?: object): Observable<T> {
    const headers = { 'content-type': 'application/json' }
    const init = body && { method: 'POST', headers, body: JSON.stringify(body) }
    return this.#request(path, init ?? {}, async (response, next) => {
      const text = await response.text()
      next(text === '' ? {} : JSON.parse(text))
    })
  }

  #request<T>(
    path: string,
    init: RequestInit,
    read: (response: Response, next: (value: T) => void) => Promise<void>,
  ): Observable<T> {
    return new Observable(subscriber => {
      const abort = new AbortController()
      subscriber.add(() => abort.abort())
      const headers = { ...init.headers, authorization: `Bearer ${this.#token}` }
      const run = async (): Promise<void> => {
        const response = await fetch(`${this.#base}api/${path}`, { ...init, headers, signal: abort.signal })
        if (!response.ok) throw new ApiError(response.status, await problemOf(response))
        await read(response, value => subscriber.next(value))
      }
      run().then(
        () => subscriber.complete(),
        (cause: unknown) => subscriber.error(cause),
      )
    })
  }
}

async function problemOf(response: Response): Promise<Problem> {
  const fallback = { code: String(response.status), message: response.statusText || `HTTP status ${response.status}` }
  try {
    const problem: Partial<Problem> = await response.json()
    return { ...fallback, ...problem }
  } catch {
    // A proxy responded in a different format.
    return fallback
  }
}

/** Returns whether a line has a known type. Other types are reserved for newer servers. */
const isStreamLine = (line: unknown): line is StreamLine =>
  typeof line === 'object' &&
  line !== null &&
  'type' in line &&
  (line.type === 'pulse' || line.type === 'clients' || line.type === 'rates')
