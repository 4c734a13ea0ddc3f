import type { RunningStore } from '../standalone.js'
import { noSuchClient } from './facts.js'
import type { JsonObject } from './json-body.js'
import { Refusal } from './refusal.js'

const LONGEST_FREEZE = 600_000

/** Cuts a client's connection. Raises {@link Refusal} when there is no such client. */
export function cut(store: RunningStore, { clientId }: JsonObject): void {
  if (typeof clientId !== 'string') throw new Refusal(400, 'argument', '`clientId` must be a text')
  if (!store.cut(clientId)) throw noSuchClient()
}

/** Freezes the store, or lets it go on. Raises {@link Refusal} for more than ten minutes. */
export function freeze(store: RunningStore, { ms }: JsonObject): void {
  if (typeof ms !== 'number' || !Number.isInteger(ms) || ms < 0 || ms > LONGEST_FREEZE) {
    throw new Refusal(400, 'argument', `\`ms\` must be a whole number from 0 to ${LONGEST_FREEZE}`)
  }
  store.freeze(ms)
}

/** Restarts the store; settles when it listens again. */
export async function restart(store: RunningStore, { keys }: JsonObject): Promise<void> {
  if (keys !== 'kept' && keys !== 'lost') throw new Refusal(400, 'argument', '`keys` must be `kept` or `lost`')
  await store.restart({ keys })
}
