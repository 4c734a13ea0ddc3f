import type { Complaints } from './complaints.js'
import type { Counts } from './counts.js'
import type { Weather } from './lane.js'
import { Pace } from './pace.js'
import type { Direction, Link } from './proxy.js'
import type { Random } from './random.js'

/** A client with a link that can be broken, which can be replaced. */
export interface Victim {
  link: Link | undefined
  rebirth?: () => Promise<void>
}

/** A process that can be killed and restarted. */
export interface Service {
  kill: () => Promise<void>
  start: () => Promise<void>
}

export interface Surroundings {
  options: { stress: number }
  complaints: Complaints
  counts: Pick<Counts, 'cuts' | 'refusals' | 'stalls' | 'halfCloses' | 'throttles' | 'splits' | 'rebirths'>
}

/** Mean interval between faults of a link, and between kills, ms. */
const FAULT_EVERY = 1_500
const KILL_EVERY = 7_000
const REBIRTH_EVERY = 4_000

/** Injects faults. */
export class Faults {
  #world
  #random
  #paces
  #linked
  /** Ends of temporary faults. */
  #timers: Set<NodeJS.Timeout> = new Set()
  #underWay: Set<Promise<void>> = new Set()
  #restarting = false

  /** @param killEvery - mean interval between kills, ms */
  constructor(
    world: Surroundings,
    supervisor: Service | undefined,
    participants: readonly Victim[],
    random: Random,
    killEvery: number = KILL_EVERY,
  ) {
    const { stress } = world.options
    this.#world = world
    this.#random = random
    this.#linked = participants.filter(({ link }) => link !== undefined)
    const faults = this.#linked.map(
      ({ link }) => new Pace(random.fork(), FAULT_EVERY / stress, () => link && this.#strike(link)),
    )
    this.#paces = [
      ...faults,
      new Pace(random.fork(), killEvery / stress, () => this.#track(this.#killStore(supervisor))),
      new Pace(random.fork(), REBIRTH_EVERY / stress, () => this.#track(this.#replaceClient())),
    ]
  }

  start() {
    for (const pace of this.#paces) pace.resume()
  }

  /** Stops all faults and repairs their damage. */
  async stop() {
    for (const pace of this.#paces) pace.pause()
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    for (const { link } of this.#linked) link?.heal()
    await Promise.all(this.#underWay)
  }

  #strike(link: Link) {
    const { counts } = this.#world
    const random = this.#random
    const dice = random.int(1, 100)
    if (dice <= 35) {
      counts.cuts += link.cut(random.chance(0.5))
      if (random.chance(0.5)) this.#refuse(link)
    } else if (dice <= 60) {
      counts.stalls++
      const duration = random.int(20, random.chance(0.2) ? 6_000 : 800)
      for (const direction of this.#directions())
        this.#change(link, direction, { stalled: true }, { stalled: false }, duration)
    } else if (dice <= 72) {
      counts.halfCloses += link.halfClose(random.pick(['up', 'down'] as const))
    } else if (dice <= 86) {
      counts.throttles++
      const rate = { rate: random.int(50, 2_000) }
      const normal = { rate: Number.POSITIVE_INFINITY }
      for (const direction of this.#directions()) this.#change(link, direction, rate, normal, random.int(200, 1_500))
    } else {
      counts.splits++
      for (const direction of this.#directions())
        this.#change(link, direction, { split: true }, { split: false }, random.int(200, 3_000))
    }
  }

  #directions(): readonly Direction[] {
    return this.#random.pick([['up'], ['down'], ['up', 'down']] as readonly Direction[][])
  }

  #refuse(link: Link) {
    this.#world.counts.refusals++
    link.refuse(true)
    this.#later(this.#random.int(50, 1_500), () => link.refuse(false))
  }

  #change(link: Link, direction: Direction, bad: Partial<Weather>, good: Partial<Weather>, duration: number) {
    link.change(direction, bad)
    this.#later(duration, () => link.change(direction, good))
  }

  async #killStore(supervisor: Service | undefined) {
    if (this.#restarting || supervisor === undefined) return
    this.#restarting = true
    try {
      await supervisor.kill()
      if (this.#random.chance(0.5)) await this.#pause(this.#random.int(10, 1_500))
      await supervisor.start()
    } finally {
      this.#restarting = false
    }
  }

  async #replaceClient() {
    const clients = this.#linked.filter(({ rebirth }) => rebirth !== undefined)
    if (clients.length === 0) return
    this.#world.counts.rebirths++
    await this.#random.pick(clients).rebirth?.()
  }

  #track(work: Promise<void>) {
    this.#underWay.add(work)
    const done = () => this.#underWay.delete(work)
    work.then(done, error => {
      this.#world.complaints.add('a fault failed', error)
      done()
    })
  }

  #pause(ms: number) {
    return new Promise(resolve => setTimeout(resolve, ms))
  }

  #later(ms: number, task: () => void) {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      task()
    }, ms)
    this.#timers.add(timer)
  }
}
