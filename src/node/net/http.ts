import type { Server as HttpServer, IncomingMessage } from 'node:http'
import type { Server as HttpsServer } from 'node:https'

/** An HTTP server provided by the application. */
export type GivenServer = HttpServer | HttpsServer

export interface Mounted<A extends readonly unknown[]> {
  isOurs(request: IncomingMessage): boolean
  ours(request: IncomingMessage, ...rest: A): void
  /** Called for all other requests, if the server has no other listener. */
  unclaimed(request: IncomingMessage, ...rest: A): void
}

/**
 * Handles some requests of a given server and passes the others to earlier listeners. Returns a function that restores
 * the server.
 *
 * @example
 * ```ts
 * const leave = mountOn(server, 'request', {
 *   isOurs: request => isBelow('/console', request),
 *   ours: answer,
 *   unclaimed: refuse,
 * })
 * ```
 */
export function mountOn<A extends readonly unknown[]>(
  server: GivenServer,
  event: 'request' | 'upgrade',
  { isOurs, ours, unclaimed }: Mounted<A>,
): () => void {
  // Removes the other listeners, which would respond to the same request.
  const before = server.rawListeners(event)
  const listen = (request: IncomingMessage, ...rest: A): void => {
    if (isOurs(request)) ours(request, ...rest)
    else if (before.length === 0) unclaimed(request, ...rest)
    else for (const listener of before) Reflect.apply(listener, server, [request, ...rest])
  }
  server.removeAllListeners(event)
  server.on(event, listen)
  return () => {
    server.off(event, listen)
    const added = server.rawListeners(event)
    server.removeAllListeners(event)
    for (const listener of [...before, ...added]) server.on(event, (...args) => Reflect.apply(listener, server, args))
  }
}

/**
 * Returns whether a request is for a path or below it.
 *
 * @param path - path without a trailing slash; empty for all requests
 */
export function isBelow(path: string, { url = '' }: IncomingMessage): boolean {
  const [requestPath = ''] = url.split('?')
  return requestPath === path || requestPath.startsWith(`${path}/`)
}

/** Returns whether a request names several hosts, which servers must reject with 400 (RFC 9112, section 3.2). */
export const hasSeveralHosts = ({ headersDistinct: { host = [] } }: IncomingMessage): boolean => host.length > 1

/** Maximum time for the head of an HTTP request, counted from the start of the connection, ms. */
const HEAD_TIMEOUT_MS = 10_000
/** Interval at which Node checks for overdue heads, ms. The default of Node is 30 s. */
const CHECK_INTERVAL_MS = 1_000

/** Options of an HTTP server that does not read request bodies. */
export const HEAD_TIMEOUTS = {
  headersTimeout: HEAD_TIMEOUT_MS,
  requestTimeout: HEAD_TIMEOUT_MS,
  connectionsCheckingInterval: CHECK_INTERVAL_MS,
} as const
