import { Random } from '../../../../harness/random.js'
import type { Schedule } from '../../../simulation/worlds/schedule.js'

type Qos = 0 | 1 | 2

/** A will. Times are in seconds. */
export interface WillPlan {
  readonly topic: string
  readonly qos: Qos
  readonly retain: boolean
  readonly delay: number
  readonly expiry: number | undefined
}

/** Times are in seconds. */
interface Connect {
  readonly clean: boolean
  readonly expiry: number
  readonly receiveMaximum: number
  /** Whether the client has a small maximum packet size. */
  readonly small: boolean
  readonly aliases: number
  readonly keepAlive: number
  readonly will: WillPlan | undefined
}

interface Publish {
  readonly topic: string
  readonly qos: Qos
  readonly retain: boolean
  readonly what: 'small' | 'large' | 'empty'
  /** In seconds. */
  readonly expiry: number | undefined
  readonly alias: boolean
}

interface Subscribe {
  readonly filter: string
  readonly qos: Qos
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  readonly retainHandling: 0 | 1 | 2
  readonly id: number | undefined
}

export type Step =
  | { readonly type: 'wait'; readonly ms: number }
  | ({ readonly client: number } & (
      | ({ readonly type: 'connect' } & Connect)
      | ({ readonly type: 'publish' } & Publish)
      | ({ readonly type: 'subscribe' } & Subscribe)
      | { readonly type: 'unsubscribe'; readonly filter: string }
      | { readonly type: 'hold' | 'release' | 'stall' | 'finish' | 'ping' }
      | { readonly type: 'acknowledge'; readonly refusing: boolean; readonly last: boolean }
      | { readonly type: 'kill'; readonly noticed: boolean }
      /** `expiry` is in seconds. */
      | { readonly type: 'disconnect'; readonly withWill: boolean; readonly expiry: number | undefined }
    ))

/** A step that a client performs at its connection. */
export type ConnectionAction = Exclude<Step, { type: 'wait' | 'connect' | 'publish' | 'kill' }>

/** A step, preceded by a number of packet moves. */
type Action = Step & { readonly moves: number }

export interface BrokerSchedule extends Schedule<Action> {
  readonly versions: readonly (4 | 5)[]
  /** Whether the limits are low enough to be reached. */
  readonly tight: boolean
  readonly ending: 'settled' | 'closed' | 'died'
}

export const STORE_TOPIC = 'store'
export const DENIED_TOPIC = 'denied'
export const TOPICS = ['a/1', 'a/2', 'b/1', 'a'] as const
const SHARED_TOPICS = ['s/x/1', 's/x/2'] as const
const FILTERS = ['a/1', 'a/2', 'b/1', 'a/+', 'a/#', '+/1', 'a'] as const
const SHARED_FILTERS = ['$share/g/s/x/+', '$share/h/s/x/1', '$share/g/s/x/1'] as const
/** Session expiry intervals in seconds. */
const EXPIRIES = [0, 3, 20, 1_000, 1_000] as const

export const BROKER_GENERATORS = [first]

function first(seed: number): BrokerSchedule {
  const random = new Random(seed)
  const tight = random.chance(0.2)
  const versions = Array.from({ length: random.int(1, 3) }, () => (!tight && random.chance(0.2) ? 4 : 5))
  const connects = versions.map((_, client): Action => ({ ...connectOf(random, client), moves: 2 }))
  const actions = Array.from({ length: random.int(5, 60) }, (): Action => {
    const moves = random.pick([0, 0, 1, 1, 2, 4, 12])
    return { ...stepOf(random, random.int(0, versions.length - 1)), moves }
  })
  const ending = random.pick(['settled', 'settled', 'settled', 'closed', 'died'] as const)
  return { seed, versions, tight, ending, actions: [...connects, ...actions] }
}

const qosOf = (random: Random): Qos => random.pick([0, 1, 1, 2, 2] as const)

const connectOf = (random: Random, client: number): Step => ({
  type: 'connect',
  client,
  clean: random.chance(0.15),
  expiry: random.pick(EXPIRIES),
  receiveMaximum: random.pick([1, 2, 5, 65_535]),
  small: random.chance(0.15),
  aliases: random.pick([0, 0, 1, 5]),
  keepAlive: random.pick([0, 0, 0, 5]),
  will: random.chance(0.4) ? willOf(random) : undefined,
})

const willOf = (random: Random): WillPlan => ({
  topic: random.pick([...TOPICS, ...SHARED_TOPICS, STORE_TOPIC]),
  qos: qosOf(random),
  retain: random.chance(0.3),
  delay: random.pick([0, 0, 2, 10]),
  expiry: random.pick([undefined, 5]),
})

function stepOf(random: Random, client: number): Step {
  const dice = random.int(1, 100)
  if (dice <= 32) return publishOf(random, client)
  if (dice <= 46) return subscribeOf(random, client)
  if (dice <= 49) return { type: 'unsubscribe', client, filter: random.pick([...FILTERS, ...SHARED_FILTERS]) }
  if (dice <= 62) return connectOf(random, client)
  if (dice <= 69) return { type: 'kill', client, noticed: random.chance(0.5) }
  if (dice <= 72) return { type: 'finish', client }
  if (dice <= 76) return disconnectOf(random, client)
  if (dice <= 80) return { type: 'hold', client }
  if (dice <= 83) return { type: 'release', client }
  if (dice <= 90) return { type: 'acknowledge', client, refusing: random.chance(0.15), last: random.chance(0.2) }
  if (dice <= 93) return { type: 'stall', client }
  if (dice <= 94) return { type: 'ping', client }
  return { type: 'wait', ms: random.pick([10, 900, 2_100, 4_000, 11_000, 25_000]) }
}

const publishOf = (random: Random, client: number): Step => ({
  type: 'publish',
  client,
  topic: random.pick([...TOPICS, ...TOPICS, ...SHARED_TOPICS, STORE_TOPIC, DENIED_TOPIC]),
  qos: qosOf(random),
  retain: random.chance(0.25),
  what: random.pick(['small', 'small', 'small', 'large', 'empty'] as const),
  expiry: random.pick([undefined, undefined, undefined, 1, 5]),
  alias: random.chance(0.2),
})

function subscribeOf(random: Random, client: number): Step {
  const shared = random.chance(0.3)
  return {
    type: 'subscribe',
    client,
    filter: shared ? random.pick(SHARED_FILTERS) : random.pick(FILTERS),
    qos: shared ? random.pick([1, 2] as const) : random.pick([0, 1, 2, 2] as const),
    noLocal: !shared && random.chance(0.2),
    retainAsPublished: random.chance(0.3),
    retainHandling: random.pick([0, 0, 1, 2] as const),
    id: random.chance(0.5) ? random.int(1, 300) : undefined,
  }
}

const disconnectOf = (random: Random, client: number): Step => ({
  type: 'disconnect',
  client,
  withWill: random.chance(0.3),
  expiry: random.chance(0.4) ? random.pick([0, 3, 1_000]) : undefined,
})
