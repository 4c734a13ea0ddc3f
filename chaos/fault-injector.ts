import type { Counts } from './counts.js'
import type { Direction, Link } from './link.js'
import type { LinkConditions } from './link-direction.js'
import type { Random } from './random.js'
import { RandomInterval } from './random-interval.js'
import type { Violations } from './violations.js'

/** A client that can be replaced, and whose link can be broken. */
export interface FaultTarget {
  link: Link | undefined
  replaceClient?: () => Promise<void>
}

export interface RestartableService {
  kill: () => Promise<void>
  start: () => Promise<void>
}

export interface FaultsHost {
  options: { stress: number }
  violations: Violations
  counts: Pick<Counts, 'cuts' | 'refusals' | 'stalls' | 'halfCloses' | 'throttles' | 'splits' | 'replacements'>
}

/** The mean intervals in ms between faults of a link and between kills. */
const FAULT_INTERVAL_MS = 1_500
const KILL_INTERVAL_MS = 7_000
const REPLACE_INTERVAL_MS = 4_000

export class FaultInjector {
  #host
  #random
  #intervals
  #targets
  #timers: Set<NodeJS.Timeout> = new Set()
  #pendingActions: Set<Promise<void>> = new Set()
  #isRestarting = false

  /** @param killIntervalMs - mean interval between kills in ms */
  constructor(
    context: FaultsHost,
    supervisor: RestartableService | undefined,
    participants: readonly FaultTarget[],
    random: Random,
    killIntervalMs: number = KILL_INTERVAL_MS,
  ) {
    const { stress } = context.options
    this.#host = context
    this.#random = random
    this.#targets = participants.filter(({ link }) => link !== undefined)
    const faults = this.#targets.map(
      ({ link }) =>
        new RandomInterval(random.fork(), FAULT_INTERVAL_MS / stress, () => link && this.#injectFault(link)),
    )
    this.#intervals = [
      ...faults,
      new RandomInterval(random.fork(), killIntervalMs / stress, () => this.#track(this.#killStore(supervisor))),
      new RandomInterval(random.fork(), REPLACE_INTERVAL_MS / stress, () => this.#track(this.#replaceClient())),
    ]
  }

  start() {
    for (const interval of this.#intervals) interval.resume()
  }

  async stop() {
    for (const interval of this.#intervals) interval.pause()
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    for (const { link } of this.#targets) link?.repair()
    await Promise.all(this.#pendingActions)
  }

  #injectFault(link: Link) {
    const { counts } = this.#host
    const random = this.#random
    const dice = random.int(1, 100)
    if (dice <= 35) {
      counts.cuts += link.closeConnections(random.chance(0.5))
      if (random.chance(0.5)) this.#refuse(link)
    } else if (dice <= 60) {
      counts.stalls++
      const duration = random.int(20, random.chance(0.2) ? 6_000 : 800)
      for (const direction of this.#directions())
        this.#degrade(link, direction, { isStalled: true }, { isStalled: false }, duration)
    } else if (dice <= 72) {
      counts.halfCloses += link.halfClose(random.pick(['up', 'down'] as const))
    } else if (dice <= 86) {
      counts.throttles++
      const rate = { bytesPerTick: random.int(50, 2_000) }
      const normal = { bytesPerTick: Number.POSITIVE_INFINITY }
      for (const direction of this.#directions()) this.#degrade(link, direction, rate, normal, random.int(200, 1_500))
    } else {
      counts.splits++
      for (const direction of this.#directions())
        this.#degrade(link, direction, { isSplit: true }, { isSplit: false }, random.int(200, 3_000))
    }
  }

  #directions(): readonly Direction[] {
    return this.#random.pick([['up'], ['down'], ['up', 'down']] as readonly Direction[][])
  }

  #refuse(link: Link) {
    this.#host.counts.refusals++
    link.refuse()
    this.#schedule(this.#random.int(50, 1_500), () => link.restore())
  }

  #degrade(
    link: Link,
    direction: Direction,
    bad: Partial<LinkConditions>,
    good: Partial<LinkConditions>,
    duration: number,
  ) {
    link.setConditions(direction, bad)
    this.#schedule(duration, () => link.setConditions(direction, good))
  }

  async #killStore(supervisor: RestartableService | undefined) {
    if (this.#isRestarting || supervisor === undefined) return
    this.#isRestarting = true
    try {
      await supervisor.kill()
      if (this.#random.chance(0.5)) await this.#pause(this.#random.int(10, 1_500))
      await supervisor.start()
    } finally {
      this.#isRestarting = false
    }
  }

  async #replaceClient() {
    const clients = this.#targets.filter(({ replaceClient: rebirth }) => rebirth !== undefined)
    if (clients.length === 0) return
    this.#host.counts.replacements++
    await this.#random.pick(clients).replaceClient?.()
  }

  #track(work: Promise<void>) {
    this.#pendingActions.add(work)
    const done = () => this.#pendingActions.delete(work)
    work.then(done, error => {
      this.#host.violations.add('a fault failed', error)
      done()
    })
  }

  #pause(ms: number) {
    return new Promise(resolve => setTimeout(resolve, ms))
  }

  #schedule(ms: number, task: () => void) {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      task()
    }, ms)
    this.#timers.add(timer)
  }
}
