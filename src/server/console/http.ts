import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { fromUtf8 } from '../../core/util/bytes.js'
import { type ErrorCode, reason, StateStoreError } from '../../core/util/errors.js'
import type { Problem } from './contract.js'

/** Why a request is refused, as HTTP and as {@link Problem}. */
export class HttpProblem extends Error {
  override readonly name = 'HttpProblem'
  readonly status: number
  readonly code: string
  readonly headers: OutgoingHttpHeaders

  constructor(status: number, code: string, message: string, headers: OutgoingHttpHeaders = {}) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }
}

const STATUS: Partial<Record<ErrorCode, number>> = {
  argument: 400,
  'quota-exceeded': 409,
  overflow: 413,
  closed: 503,
}

/**
 * Answers with a problem; a client that has got a part of an answer already is cut off, so that it does not take it for
 * all. The rest of the request is read and forgotten: who still sends would not listen.
 */
export function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  request.resume()
  const { status, code, message, headers } = error instanceof HttpProblem ? error : refusalOf(error)
  const problem: Problem = { code, message }
  response.writeHead(status, { ...headers, 'content-type': 'application/json' })
  response.end(request.method === 'HEAD' ? undefined : JSON.stringify(problem))
}

function refusalOf(error: unknown): HttpProblem {
  const code = error instanceof StateStoreError ? error.code : 'failed'
  return new HttpProblem((code !== 'failed' && STATUS[code]) || 500, code, reason(error))
}

/** An object that was sent; what its members are is not known. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Largest body of a request, bytes; a thousand keys of 2,000 bytes each fit. */
const LARGEST_BODY = 4 * 1024 * 1024

/** A body that is not destroyed when its reader gives up: the answer goes out over the same connection. */
export const bytesOf = (request: IncomingMessage): AsyncIterable<Uint8Array> =>
  request.iterator({ destroyOnReturn: false })

/** The members of a JSON object that was sent; raises {@link HttpProblem} for anything else. */
export async function readJson(request: IncomingMessage): Promise<JsonObject> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of bytesOf(request)) {
    length += chunk.length
    if (length > LARGEST_BODY) {
      throw new HttpProblem(413, 'payload', `The body is longer than ${LARGEST_BODY} bytes`)
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

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * An address of the broker as a browser that asked by this host name reaches it: to listen on all addresses is no
 * address.
 */
export const reachableBy = (url: string, hostName: string): string =>
  url.replace(/^(\w+:\/\/)(0\.0\.0\.0|\[::\])(?=:)/, `$1${hostName}`)

/**
 * What every answer has: the page may load itself and talk to us and to the broker, nothing may frame it, and it tells
 * nobody where it was.
 */
export function securityHeaders(wsUrl: string): Readonly<Record<string, string>> {
  // A policy cannot name an IPv6 address (Content Security Policy Level 3, host-source).
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
