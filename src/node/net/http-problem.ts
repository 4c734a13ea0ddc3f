import type { OutgoingHttpHeaders } from 'node:http'

/** The error response that a request handler throws. */
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
