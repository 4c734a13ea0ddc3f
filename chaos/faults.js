import { Pace } from './pace.js'

/**
 * What has a link that may be broken, and can be replaced.
 *
 * @typedef {object} Victim
 * @property {import('./proxy.js').Link | undefined} link
 * @property {() => Promise<void>} [rebirth]
 */

/**
 * What can be killed and started again.
 *
 * @typedef {object} Service
 * @property {() => Promise<void>} kill
 * @property {() => Promise<void>} start
 */

/**
 * @typedef {object} Surroundings
 * @property {{ stress: number }} options
 * @property {import('./complaints.js').Complaints} complaints
 * @property {Pick<import('./counts.js').Counts, 'cuts' | 'refusals' | 'stalls' | 'halfCloses' | 'throttles' | 'splits' | 'rebirths'>} counts
 */

/** How often a fault comes to one link, and to the store, ms. */
const FAULT_EVERY = 1_500
const KILL_EVERY = 7_000
const REBIRTH_EVERY = 4_000

/** Everything that goes wrong. */
export class Faults {
  #world
  #random
  #paces
  #linked
  /** Ends of faults that last a while. */
  /** @type {Set<NodeJS.Timeout>} */
  #timers = new Set()
  /** @type {Set<Promise<void>>} */
  #underWay = new Set()
  #restarting = false

  /**
   * @param {Surroundings} world
   * @param {Service | undefined} supervisor
   * @param {readonly Victim[]} participants
   * @param {import('./random.js').Random} random
   * @param {number} [killEvery] - ms between two ends of the service
   */
  constructor(world, supervisor, participants, random, killEvery = KILL_EVERY) {
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

  /** Ends all faults and heals what they broke. */
  async stop() {
    for (const pace of this.#paces) pace.pause()
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    for (const { link } of this.#linked) link?.heal()
    await Promise.all(this.#underWay)
  }

  /** @param {import('./proxy.js').Link} link */
  #strike(link) {
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
      counts.halfCloses += link.halfClose(random.pick(/** @type {const} */ (['up', 'down'])))
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

  /** @returns {readonly import('./proxy.js').Direction[]} */
  #directions() {
    return this.#random.pick(
      /** @type {readonly import('./proxy.js').Direction[][]} */ ([['up'], ['down'], ['up', 'down']]),
    )
  }

  /** @param {import('./proxy.js').Link} link */
  #refuse(link) {
    this.#world.counts.refusals++
    link.refuse(true)
    this.#later(this.#random.int(50, 1_500), () => link.refuse(false))
  }

  /**
   * @param {import('./proxy.js').Link} link
   * @param {import('./proxy.js').Direction} direction
   * @param {Partial<import('./lane.js').Weather>} bad
   * @param {Partial<import('./lane.js').Weather>} good
   * @param {number} duration
   */
  #change(link, direction, bad, good, duration) {
    link.change(direction, bad)
    this.#later(duration, () => link.change(direction, good))
  }

  /** @param {Service | undefined} supervisor */
  async #killStore(supervisor) {
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

  /** @param {Promise<void>} work */
  #track(work) {
    this.#underWay.add(work)
    const done = () => this.#underWay.delete(work)
    work.then(done, error => {
      this.#world.complaints.add('a fault failed', error)
      done()
    })
  }

  /** @param {number} ms */
  #pause(ms) {
    return new Promise(resolve => setTimeout(resolve, ms))
  }

  /**
   * @param {number} ms
   * @param {() => void} task
   */
  #later(ms, task) {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      task()
    }, ms)
    this.#timers.add(timer)
  }
}
