import { onTestFinished } from 'vitest'
import { type StateStore, systemClock } from '../../../../src/client/index.js'
import type { KeyMessage } from '../../../../src/pubsub/bridge/index.js'
import { type BridgeOptions, bridge } from '../../../../src/pubsub/bridge/index.js'
import { connectPubSub, type PubSubClient, type PubSubOptions } from '../../../../src/pubsub/client/index.js'
import { servePubSub } from '../../../../src/pubsub/hub/index.js'
import { eventually } from '../../../support/eventually.js'
import { openClient } from '../../../support/open-client.js'
import { openStore } from '../../../support/open-store.js'
import { RawPubSubClient } from '../../support/raw-pubsub-client.js'

/** Grants full access to every client. */
export const FULL_ACCESS: BridgeOptions = { read: () => true, write: () => true }

/** Opens a hub with a bridge to a store. Clients give their user id as `?user=` and have no roles. */
export async function bridgeTo(store: StateStore, options: BridgeOptions = FULL_ACCESS, retention = 60_000) {
  const server = await servePubSub({
    port: 0,
    retention,
    authenticate: ({ query }) => ({
      userId: query.get('user') ?? undefined,
      roles: query.getAll('role'),
      groups: query.getAll('group'),
    }),
  })
  onTestFinished(async () => server.close())
  const hub = server.hub('panel')
  const keys = bridge(store, hub, options)
  onTestFinished(() => keys.close())
  const errors: string[] = []
  keys.errors$.subscribe(({ code }) => errors.push(code))
  const raw = (user = 'ann', query = '') => RawPubSubClient.connect(`${hub.url}?user=${user}${query}`)
  const browser = (user = 'ann', through = hub.url): PubSubClient => openBrowser(`${through}?user=${user}`)
  return { server, hub, keys, errors, raw, browser }
}

/** Opens a client with short retry delays, which is closed at the end of the test. */
export function openBrowser(url: string, options: PubSubOptions = {}): PubSubClient {
  const client = connectPubSub(url, { reconnect: { initial: 5, max: 20 }, ...options })
  onTestFinished(async () => client.close())
  return client
}

/** Opens a store, a client that writes to that store, and a hub whose bridge uses another client. */
export async function openBridge(options: BridgeOptions = FULL_ACCESS, retention?: number) {
  const { store } = await openStore({ clock: systemClock })
  const plant = openClient(store.url)
  const bridged = openClient(store.url)
  return { store, plant, bridged, ...(await bridgeTo(bridged, options, retention)) }
}

/** A recorder of the messages that a client receives about a key. */
export class Follower {
  readonly received: string[] = []
  readonly #subscription

  constructor(client: PubSubClient, key: string) {
    this.#subscription = client.group(`key:${key}`).messages$.subscribe({
      next: ({ data }) => this.received.push(summarize(data)),
      error: error => this.received.push(String(error)),
    })
    onTestFinished(() => this.stop())
  }

  stop(): void {
    this.#subscription.unsubscribe()
  }

  /** The entries, without messages about freshness. */
  get entries(): string[] {
    return this.received.filter(words => !words.startsWith('is '))
  }

  /** Resolves when the message has been received. */
  async until(words: string): Promise<void> {
    await eventually(() => this.received.includes(words))
  }
}

/** Summarizes a message about a key, such as `set 21 (snapshot)`, `is live` or `error closed`. */
export function summarize(data: unknown): string {
  if (!isMessage(data)) return `unknown: ${JSON.stringify(data)}`
  if (data.type === 'freshness') return `is ${data.state}`
  if (data.type === 'error') return `error ${data.error.code}`
  if (data.op === 'set') return `set ${JSON.stringify(data.value)} (${data.source})`
  return data.op === 'invalid' ? `invalid: ${data.error.code}` : `${data.op} (${data.source})`
}

const isMessage = (data: unknown): data is KeyMessage => typeof data === 'object' && data !== null && 'type' in data
