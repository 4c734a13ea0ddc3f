import type { Server as HttpServer, IncomingMessage } from 'node:http'
import type { Server as HttpsServer } from 'node:https'

/** An HTTP server of somebody else. */
export type GivenServer = HttpServer | HttpsServer

/** Who takes which requests. */
export interface Mounted<A extends readonly unknown[]> {
  isOurs(request: IncomingMessage): boolean
  ours(request: IncomingMessage, ...rest: A): void
  /** Nobody else listens, and it is not ours. */
  nobodys(request: IncomingMessage, ...rest: A): void
}

/**
 * Takes those requests of a given server that are ours; all others go to earlier listeners. Returns a function that
 * leaves the server as it was.
 *
 * @example
 * ```ts
 * const leave = mountOn(server, 'request', { isOurs: request => isBelow('/console', request), ours: answer, nobodys: refuse })
 * ```
 */
export function mountOn<A extends readonly unknown[]>(
  server: GivenServer,
  event: 'request' | 'upgrade',
  { isOurs, ours, nobodys }: Mounted<A>,
): () => void {
  // Whoever would hear of it as well would answer it as well.
  const before = server.rawListeners(event)
  const listen = (request: IncomingMessage, ...rest: A): void => {
    if (isOurs(request)) ours(request, ...rest)
    else if (before.length === 0) nobodys(request, ...rest)
    else for (const listener of before) Reflect.apply(listener, server, [request, ...rest])
  }
  server.removeAllListeners(event)
  server.on(event, listen)
  return () => {
    server.off(event, listen)
    const later = server.rawListeners(event)
    server.removeAllListeners(event)
    for (const listener of [...before, ...later]) server.on(event, (...args) => Reflect.apply(listener, server, args))
  }
}

/** Whether a request is for a path, or something below it. @param path - without a slash at the end; empty for all */
export function isBelow(path: string, { url = '' }: IncomingMessage): boolean {
  const [asked = ''] = url.split('?')
  return asked === path || asked.startsWith(`${path}/`)
}

/** How long the head of an HTTP request may take, from the connection on, ms. */
const HEAD_TIMEOUT = 10_000
/** How often Node looks for heads that take longer, ms; by default it is half a minute. */
const CHECK_INTERVAL = 1_000

/** Options of an HTTP server whose requests have no body worth waiting for. */
export const HEAD_TIMEOUTS = {
  headersTimeout: HEAD_TIMEOUT,
  requestTimeout: HEAD_TIMEOUT,
  connectionsCheckingInterval: CHECK_INTERVAL,
} as const
