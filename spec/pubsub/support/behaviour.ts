import { onTestFinished } from 'vitest'
import {
  connectPubSub,
  type PubSubClient,
  type PubSubOptions,
  type PubSubStatus,
} from '../../../src/pubsub/client/index.js'
import type { ServePubSubOptions } from '../../../src/pubsub/hub/index.js'
import { eventually } from '../../support/eventually.js'
import { type Link, layLink } from '../../support/link.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openHub } from './open-hub.js'
import { type Protocol, ScriptedHub } from './scripted-hub.js'

/** A client with a record of its connection states. */
export interface Watched {
  readonly client: PubSubClient
  readonly statuses: readonly PubSubStatus[]
  readonly states: () => readonly string[]
  /** Resolves when the latest state is `state`. */
  readonly reached: (state: PubSubStatus['state']) => Promise<void>
  /** Codes of the errors on `errors$`. */
  readonly errors: readonly string[]
}

/** Opens the shipped client, which is closed at the end of the test. */
export function watch(url: string | (() => string), options: PubSubOptions = {}): Watched {
  const client = connectPubSub(url, { reconnect: { initial: 5, max: 20 }, ...options })
  const statuses: PubSubStatus[] = []
  const errors: string[] = []
  client.status$.subscribe(status => statuses.push(status))
  client.errors$.subscribe(({ code }) => errors.push(code))
  onTestFinished(async () => {
    const closed = client.close()
    if (options.clock instanceof ManualClock) options.clock.advance(2_000)
    await closed
  })
  const states = () => statuses.map(({ state }) => state)
  return { client, statuses, states, errors, reached: state => eventually(() => states().at(-1) === state) }
}

/** Opens the shipped client at a scripted hub, on a manual clock. */
export async function openScriptedHub(protocol: Protocol, options: PubSubOptions = {}) {
  const hub = await ScriptedHub.open(protocol)
  const clock = new ManualClock()
  let asked = 0
  const url = (): string => {
    asked++
    return `${hub.url}?access_token=${asked}`
  }
  const reconnect = { initial: 1_000, max: 1_000 }
  const watched = watch(url, { protocol, clock, reconnect, ...options })
  return { hub, clock, ...watched, urlsAsked: () => asked }
}

/** Returns the data of a group's messages, in a list that grows as messages arrive. */
export function texts({ client }: Watched, group = 'g'): unknown[] {
  const received: unknown[] = []
  const subscription = client.group(group).messages$.subscribe({
    next: ({ data }) => received.push(data),
    error: error => received.push(error.code),
  })
  onTestFinished(() => subscription.unsubscribe())
  return received
}

/** Starts the shipped hub with anonymous access, behind a link that can be cut. */
export async function openShippedHub(protocol: Protocol, options: Partial<ServePubSubOptions> = {}) {
  const roles = ['webpubsub.joinLeaveGroup', 'webpubsub.sendToGroup']
  const opened = await openHub({
    authenticate: ({ query }) => ({ userId: query.get('user') ?? 'ann', roles }),
    ...options,
  })
  const link = await layLink(opened.server.url)
  const urlOf = (user: string): string => `${through(opened.hub.url, link)}?user=${user}`
  const open = (user = 'ann', more: PubSubOptions = {}): Watched => watch(urlOf(user), { protocol, ...more })
  /** Resolves when the client of a user is a member of a group. */
  const joined = (group = 'g', user = 'ann'): Promise<void> =>
    eventually(() => opened.hub.connections.some(({ userId, groups }) => userId === user && groups.includes(group)))
  const attached = (is: boolean): Promise<void> =>
    eventually(() => opened.hub.connections.every(connection => connection.attached === is))
  return { ...opened, link, urlOf, open, joined, attached }
}

/** Returns a URL that leads through a link to the original address. */
export function through(url: string, link: Link): string {
  const target = new URL(url)
  target.port = new URL(link.url).port
  return target.href
}

/** Returns the numbers from 1 to `count`. */
export const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1)
