import type { IncomingMessage, ServerResponse } from 'node:http'
import { isObject } from '../../core/util/built-in-types.js'
import { fromUtf8 } from '../../core/util/bytes.js'
import { type ErrorCode, reason, StateStoreError } from '../../core/util/errors.js'
import { HttpProblem } from '../../node/net/http-problem.js'
import type { Problem } from './contract.js'

const STATUS: Partial<Record<ErrorCode, number>> = {
  argument: 400,
  'quota-exceeded': 409,
  overflow: 413,
  closed: 503,
}

/**
 * Sends an error response. If the response has already started, destroys the connection instead, so that the client
 * does not mistake the response for complete. Otherwise, reads and discards the remaining request, because a client
 * that is still sending does not read.
 */
export function sendProblem(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  request.resume()
  const { status, code, message, headers } = error instanceof HttpProblem ? error : problemOf(error)
  const problem: Problem = { code, message }
  response.writeHead(status, { ...headers, 'content-type': 'application/json' })
  response.end(request.method === 'HEAD' ? undefined : JSON.stringify(problem))
}

function problemOf(error: unknown): HttpProblem {
  const code = error instanceof StateStoreError ? error.code : 'failed'
  return new HttpProblem((code !== 'failed' && STATUS[code]) || 500, code, reason(error))
}

export type JsonObject = Readonly<Record<string, unknown>>

/** The size in bytes of the largest request body, which has room for a thousand keys of 2,000 bytes. */
const MAX_BODY_BYTES = 4 * 1024 * 1024

/**
 * Iterates over the body. An early exit does not destroy the request, because the response uses the same connection.
 */
export const bodyOf = (request: IncomingMessage): AsyncIterable<Uint8Array> =>
  request.iterator({ destroyOnReturn: false })

export async function readJson(request: IncomingMessage): Promise<JsonObject> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of bodyOf(request)) {
    length += chunk.length
    if (length > MAX_BODY_BYTES) {
      throw new HttpProblem(413, 'payload', `The body exceeds ${MAX_BODY_BYTES} bytes`)
    }
    chunks.push(chunk)
  }
  return parse(Buffer.concat(chunks))
}

function parse(body: Uint8Array): JsonObject {
  let members: unknown
  try {
    members = JSON.parse(fromUtf8(body))
  } catch (error) {
    throw new HttpProblem(400, 'argument', `The body is not valid JSON: ${reason(error).slice(0, 200)}`)
  }
  if (isObject(members)) return members
  throw new HttpProblem(400, 'argument', 'The body is not a JSON object')
}

/** Replaces a wildcard address in a URL by the host name of the request, which is reachable for the browser. */
export const replaceWildcardHost = (url: string, hostName: string): string =>
  url.replace(/^(\w+:\/\/)(0\.0\.0\.0|\[::\])(?=:)/, `$1${hostName}`)

/**
 * Returns the security headers of every response. With them, the page may load only its own files, connects only to
 * this server and the broker, cannot be framed, and sends no referrer.
 */
export function securityHeaders(wsUrl: string): Readonly<Record<string, string>> {
  // A policy cannot contain an IPv6 address (Content Security Policy Level 3, host-source).
  const broker = wsUrl.replace(/^(wss?:\/\/)\[.*\]/, '$1*')
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src 'self' ${broker}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]
  return {
    'content-security-policy': policy.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  }
}
