import { setTimeout } from 'node:timers/promises'
import type { Direction, Link } from '../harness/link.js'
import { type LinkConditions, normalConditions } from '../harness/link-direction.js'
import { RandomInterval } from './random-interval.js'
import type { Run } from './run.js'

/** A process or a group of processes that can be killed and started again. */
export interface Restartable {
  kill: () => Promise<void>
  start: () => Promise<void>
}

export interface FaultOptions {
  readonly links: readonly Link[]
  /** the mean interval in ms between faults of a link */
  readonly faultIntervalMs: number
  readonly service?: Restartable
  /** the mean interval in ms between kills of the service */
  readonly killIntervalMs?: number
  /** clients that are replaced */
  readonly clients?: readonly { replaceClient: () => Promise<void> }[]
}

/** The mean interval in ms between faults of a link, without stress. */
export const FAULT_INTERVAL_MS = 1_500
/** How much rarer clients are replaced. */
const REPLACE_FACTOR = 2.7

/** Breaks links, kills a service and replaces clients at random intervals. */
export class FaultInjector {
  #run
  #links
  #random
  #intervals
  #timers: Set<NodeJS.Timeout> = new Set()
  #pendingActions: Set<Promise<void>> = new Set()
  #isRestarting = false

  constructor(run: Run, { links, faultIntervalMs, service, killIntervalMs = 0, clients = [] }: FaultOptions) {
    const random = run.random.fork()
    this.#run = run
    this.#links = links
    this.#random = random
    this.#intervals = links.map(link => new RandomInterval(random.fork(), faultIntervalMs, () => this.#breakLink(link)))
    if (service)
      this.#intervals.push(new RandomInterval(random.fork(), killIntervalMs, () => this.#track(this.#restart(service))))
    if (clients.length > 0)
      this.#intervals.push(
        new RandomInterval(random.fork(), REPLACE_FACTOR * faultIntervalMs, () => {
          run.tally.add('replaced clients')
          this.#track(random.pick(clients).replaceClient())
        }),
      )
  }

  /** Runs activities and injects faults for a time in ms. Resolves when all links and processes work again. */
  async run(ms: number, activities: readonly RandomInterval[]) {
    for (const interval of [...activities, ...this.#intervals]) interval.resume()
    await setTimeout(ms)
    for (const interval of [...activities, ...this.#intervals]) interval.pause()
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    for (const link of this.#links) link.repair()
    await Promise.all(this.#pendingActions)
  }

  #breakLink(link: Link) {
    const { tally } = this.#run
    const random = this.#random
    const dice = random.int(1, 100)
    if (dice <= 35) {
      tally.add('cuts', link.closeConnections(random.chance(0.5)))
      if (random.chance(0.5)) this.#refuse(link)
    } else if (dice <= 60) {
      tally.add('stalls')
      this.#degrade(link, 'isStalled', true, random.int(20, random.chance(0.2) ? 6_000 : 800))
    } else if (dice <= 72) {
      tally.add('half closes', link.halfClose(random.pick<Direction>(['up', 'down'])))
    } else if (dice <= 86) {
      tally.add('throttles')
      this.#degrade(link, 'bytesPerTick', random.int(50, 2_000), random.int(200, 1_500))
    } else {
      tally.add('splits')
      this.#degrade(link, 'isSplit', true, random.int(200, 3_000))
    }
  }

  #refuse(link: Link) {
    this.#run.tally.add('refusals')
    link.refuse()
    this.#schedule(this.#random.int(50, 1_500), () => link.restore())
  }

  /** Degrades one or both directions of a link for a time in ms, which may overlap other faults. */
  #degrade(link: Link, condition: keyof LinkConditions, value: boolean | number, ms: number) {
    const normal = { [condition]: normalConditions()[condition] }
    for (const direction of this.#random.pick<readonly Direction[]>([['up'], ['down'], ['up', 'down']])) {
      link.setConditions(direction, { [condition]: value })
      this.#schedule(ms, () => link.setConditions(direction, normal))
    }
  }

  async #restart(service: Restartable) {
    if (this.#isRestarting) return
    this.#isRestarting = true
    this.#run.tally.add('kills')
    try {
      await service.kill()
      if (this.#random.chance(0.5)) await setTimeout(this.#random.int(10, 1_500))
      await service.start()
    } finally {
      this.#isRestarting = false
    }
  }

  #track(work: Promise<void>) {
    this.#pendingActions.add(work)
    work
      .catch(error => this.#run.violations.add('a fault failed', error))
      .finally(() => this.#pendingActions.delete(work))
  }

  #schedule(ms: number, task: () => void) {
    const timer = globalThis.setTimeout(() => {
      this.#timers.delete(timer)
      task()
    }, ms)
    this.#timers.add(timer)
  }
}
