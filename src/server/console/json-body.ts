import type { IncomingMessage } from 'node:http'
import { fromUtf8 } from '../../core/util/bytes.js'
import { reason } from '../../core/util/errors.js'
import { Refusal } from './refusal.js'

/** An object that was sent; what its members are is not known. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Largest body of a request, bytes; a thousand keys of 2,000 bytes each fit. */
const LARGEST_BODY = 4 * 1024 * 1024

/** A body that is not destroyed when its reader gives up: the answer goes out over the same connection. */
export const bytesOf = (request: IncomingMessage): AsyncIterable<Uint8Array> =>
  request.iterator({ destroyOnReturn: false })

/** The members of a JSON object that was sent; raises {@link Refusal} for anything else. */
export async function readJson(request: IncomingMessage): Promise<JsonObject> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of bytesOf(request)) {
    length += chunk.length
    if (length > LARGEST_BODY) {
      throw new Refusal(413, 'payload', `The body is longer than ${LARGEST_BODY} bytes`)
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
    throw new Refusal(400, 'argument', `The body is not valid JSON: ${reason(error).slice(0, 200)}`)
  }
  if (isObject(members)) return members
  throw new Refusal(400, 'argument', 'The body is not a JSON object')
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
