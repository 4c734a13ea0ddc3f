import { fromHex, toHex } from '../../core/util/bytes.js'
import { type ConsoleStore, withBroker } from './console-store.js'
import type { ClientAnswer, KeyFacts, KeysAnswer, UsageAnswer } from './contract.js'
import type { JsonObject } from './json-body.js'
import { Refusal } from './refusal.js'

/** Most keys in a request or an answer. */
const MOST_KEYS = 1_000

/** What a GET does not tell of keys. Raises {@link Refusal} for malformed ids. */
export function keyFacts(store: ConsoleStore, { ids }: JsonObject): KeysAnswer {
  if (!Array.isArray(ids) || ids.length > MOST_KEYS) {
    throw new Refusal(400, 'argument', `\`ids\` must be an array of ${MOST_KEYS} at most`)
  }
  return { keys: ids.flatMap((id: unknown) => factsOf(store, id) ?? []) }
}

function factsOf(store: ConsoleStore, id: unknown): KeyFacts | undefined {
  const key = typeof id === 'string' ? fromHex(id) : undefined
  if (key === undefined) throw new Refusal(400, 'argument', 'An id is a key in Base16')
  const stored = store.peek(key)
  if (stored === undefined) return undefined
  const { value, version, expiresAt, fencingToken, watchers } = stored
  return {
    id: toHex(key),
    version,
    size: value.length,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(fencingToken !== undefined && { fencingToken }),
    watchers,
  }
}

/** What a client watches. Raises {@link Refusal} when there is no such client. */
export function clientFacts(store: ConsoleStore, { clientId }: JsonObject): ClientAnswer {
  const client = store.clients.find(candidate => candidate.clientId === clientId)
  if (client === undefined) throw noSuchClient()
  const ids: string[] = []
  for (const key of store.watchedBy(client.clientId)) {
    if (ids.length >= MOST_KEYS) break
    ids.push(toHex(key))
  }
  return { clientId: client.clientId, watches: client.watches, ids }
}

/** What there is of what there are quotas of. Raises {@link Refusal} for an attached store. */
export function usageFacts(store: ConsoleStore): UsageAnswer {
  const { stats, usage, addresses } = withBroker(store)
  return {
    total: stats,
    principals: Array.from(usage).slice(0, MOST_KEYS),
    addresses: Array.from(addresses).slice(0, MOST_KEYS),
  }
}

/** The refusal of a client id that no client has. */
export const noSuchClient = (): Refusal => new Refusal(404, 'not-found', 'There is no such client')
