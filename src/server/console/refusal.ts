import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { type ErrorCode, reason, StateStoreError } from '../../core/util/errors.js'
import type { Problem } from './contract.js'

/** Why a request is refused, as HTTP and as {@link Problem}. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
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
  const { status, code, message, headers } = error instanceof Refusal ? error : refusalOf(error)
  const problem: Problem = { code, message }
  response.writeHead(status, { ...headers, 'content-type': 'application/json' })
  response.end(request.method === 'HEAD' ? undefined : JSON.stringify(problem))
}

function refusalOf(error: unknown): Refusal {
  const code = error instanceof StateStoreError ? error.code : 'failed'
  return new Refusal((code !== 'failed' && STATUS[code]) || 500, code, reason(error))
}
