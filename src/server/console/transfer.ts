import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { DumpLine } from '../../node/dump/dump-line.js'
import { linesOf } from '../../node/dump/lines.js'
import type { ConsoleStore } from './console-store.js'
import type { LoadAnswer, ResetAnswer } from './contract.js'
import { bytesOf } from './json-body.js'
import { Refusal } from './refusal.js'

/** Characters that are written at a time. */
const CHUNK = 65_536

/** Sends all keys, at the pace of the reader. Raises {@link Refusal} while the store does not serve: there would be none. */
export async function sendDump(store: ConsoleStore, response: ServerResponse): Promise<void> {
  if (store.startedAt === undefined)
    throw new Refusal(503, 'closed', 'The store does not serve now, and has no keys; dump the one that does')
  response.writeHead(200, {
    'content-type': 'application/x-ndjson',
    'content-disposition': 'attachment; filename="dump.ndjson"',
  })
  await pipeline(chunks(store.dump()), response)
}

function* chunks(lines: Iterable<DumpLine>): Generator<string, void> {
  let chunk = ''
  for (const line of lines) {
    chunk += `${JSON.stringify(line)}\n`
    if (chunk.length < CHUNK) continue
    yield chunk
    chunk = ''
  }
  yield chunk
}

/** Loads the dump in the body of a request. */
export async function takeDump(store: ConsoleStore, request: IncomingMessage): Promise<LoadAnswer> {
  const { loaded, versionsKept, expired } = await store.load(linesOf(bytesOf(request)))
  return { loaded, versionsKept, expired }
}

/** Makes the store what the seed is. Raises {@link Refusal} when there is none. */
export async function reset(store: ConsoleStore, seed: readonly DumpLine[] | undefined): Promise<ResetAnswer> {
  if (seed === undefined) throw new Refusal(409, 'no-seed', 'The store was started without a seed')
  const { deleted, loaded } = await store.load(seed, { replace: true })
  return { deleted, set: loaded }
}
