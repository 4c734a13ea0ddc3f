/** How long the head of an HTTP request may take, from the connection on, ms. */
export const HEAD_TIMEOUT = 10_000
/** How often Node looks for heads that take longer, ms; by default it is half a minute. */
const CHECK_INTERVAL = 1_000

/** Options of an HTTP server whose requests have no body worth waiting for. */
export const HEAD_TIMEOUTS = {
  headersTimeout: HEAD_TIMEOUT,
  requestTimeout: HEAD_TIMEOUT,
  connectionsCheckingInterval: CHECK_INTERVAL,
} as const
