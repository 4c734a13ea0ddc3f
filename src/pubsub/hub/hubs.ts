import { ArgumentError } from '../../core/util/errors.js'
import { hubKey } from '../wire/rules.js'
import { HubDriver, type HubDriverOptions } from './hub-driver.js'
import type { HubEngine } from './hub-engine.js'
import { CLOSE } from './hub-link.js'
import type { HubSession } from './hub-session.js'
import { MemoryBudget } from './memory-budget.js'

/** The hubs of a server, by name. A hub that the application has not asked for is forgotten with its last session. */
export class Hubs {
  readonly #options: HubDriverOptions
  readonly #budget: MemoryBudget
  readonly #allowed: ReadonlySet<string> | undefined
  readonly #hubs = new Map<string, HubDriver>()
  /** Names that the application has asked for. */
  readonly #kept = new Set<string>()

  /**
   * @param mostBytes - that may wait for clients at all hubs
   * @param allowed - names of the hubs there can be; any without it
   */
  constructor(options: Omit<HubDriverOptions, 'budget'>, mostBytes: number, allowed?: readonly string[]) {
    this.#budget = new MemoryBudget(mostBytes, isEnough => this.#relieve(isEnough))
    this.#options = { ...options, budget: this.#budget }
    this.#allowed = allowed && new Set(allowed.map(hubKey))
  }

  /** What waits for all clients together, bytes. */
  get waitingBytes(): number {
    return this.#budget.used
  }

  /** Sessions at all hubs. */
  get sessions(): number {
    let count = 0
    for (const hub of this.#hubs.values()) count += hub.engine.roster.all.size
    return count
  }

  /** Those of an owner; see {@link HubSession.owner}. */
  sessionsOf(owner: string): number {
    let count = 0
    for (const hub of this.#hubs.values()) count += hub.engine.roster.ofOwner(owner).size
    return count
  }

  get all(): Iterable<HubDriver> {
    return this.#hubs.values()
  }

  /** Whether there can be such a hub. */
  allows(name: string): boolean {
    return this.#allowed?.has(hubKey(name)) ?? true
  }

  /** The hub, if it exists. */
  find(name: string): HubDriver | undefined {
    return this.#hubs.get(hubKey(name))
  }

  /** The hub, for a client. */
  open(name: string): HubDriver {
    const key = hubKey(name)
    const known = this.#hubs.get(key)
    if (known !== undefined) return known
    const hub = new HubDriver(this.#options)
    hub.connections$.subscribe(({ type }) => {
      if (type === 'disconnected' && hub.engine.roster.all.size === 0 && !this.#kept.has(key)) this.#forget(key, hub)
    })
    this.#hubs.set(key, hub)
    return hub
  }

  /** The hub, for the application; never forgotten. Throws {@link ArgumentError} for one that is not allowed. */
  keep(name: string): HubDriver {
    if (!this.allows(name)) throw new ArgumentError(`There is no hub ${name}: it is not one of \`hubs\``)
    this.#kept.add(hubKey(name))
    return this.open(name)
  }

  /** Ends sessions of the users that account for most, of each the heaviest first, so that there is room for the others. */
  #relieve(isEnough: () => boolean): void {
    const weights = new SessionWeights(this.#hubs.values())
    while (!isEnough()) {
      const heaviest = weights.takeHeaviest()
      if (heaviest === undefined) return
      const { engine, session } = heaviest
      engine.end(session, 'overflow', CLOSE.policy, 'the server keeps too much, most of it for you')
    }
  }

  #forget(key: string, hub: HubDriver): void {
    this.#hubs.delete(key)
    hub.close()
  }
}

/** A session, and the hub that keeps it. */
interface Weighed {
  readonly engine: HubEngine
  readonly session: HubSession
  readonly weight: number
}

/** The sessions of an owner, the heaviest last. */
interface Owned {
  readonly sessions: Weighed[]
  weight: number
}

/**
 * What sessions account for at a moment, by owner: one with many sessions is as heavy as all of them, however little each
 * of them has.
 */
export class SessionWeights {
  readonly #owners = new Map<string, Owned>()

  constructor(hubs: Iterable<{ readonly engine: HubEngine }>) {
    for (const { engine } of hubs) for (const session of engine.roster.all) this.#add(engine, session)
    for (const { sessions } of this.#owners.values()) sessions.sort((a, b) => a.weight - b.weight)
  }

  /** The heaviest session of the owner that is heaviest without those taken before; `undefined` when none is left. */
  takeHeaviest(): Weighed | undefined {
    let heaviest: Owned | undefined
    for (const owned of this.#owners.values()) if (owned.weight > (heaviest?.weight ?? 0)) heaviest = owned
    const taken = heaviest?.sessions.pop()
    if (heaviest && taken) heaviest.weight -= taken.weight
    return taken
  }

  #add(engine: HubEngine, session: HubSession): void {
    const weight = engine.weightOf(session)
    const owned = this.#owners.get(session.owner) ?? { sessions: [], weight: 0 }
    this.#owners.set(session.owner, owned)
    owned.sessions.push({ engine, session, weight })
    owned.weight += weight
  }
}
