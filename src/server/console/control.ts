import { type ConsoleStore, withBroker } from './console-store.js'
import { noSuchClient } from './facts.js'
import type { JsonObject } from './json-body.js'
import { Refusal } from './refusal.js'

const LONGEST_FREEZE = 600_000

/** Cuts a client's connection. Raises {@link Refusal} when there is no such client, or the broker is not the store's. */
export function cut(store: ConsoleStore, { clientId }: JsonObject): void {
  if (typeof clientId !== 'string') throw new Refusal(400, 'argument', '`clientId` must be a text')
  if (!withBroker(store).cut(clientId)) throw noSuchClient()
}

/** Freezes the store, or lets it go on. Raises {@link Refusal} for more than ten minutes, and for an attached one. */
export function freeze(store: ConsoleStore, { ms }: JsonObject): void {
  if (typeof ms !== 'number' || !Number.isInteger(ms) || ms < 0 || ms > LONGEST_FREEZE) {
    throw new Refusal(400, 'argument', `\`ms\` must be a whole number from 0 to ${LONGEST_FREEZE}`)
  }
  withBroker(store).freeze(ms)
}

/** Restarts the store; settles when it listens again. Raises {@link Refusal} for an attached one. */
export async function restart(store: ConsoleStore, { keys }: JsonObject): Promise<void> {
  if (keys !== 'kept' && keys !== 'lost') throw new Refusal(400, 'argument', '`keys` must be `kept` or `lost`')
  await withBroker(store).restart({ keys })
}
