import { ArgumentError } from '../../core/util/errors.js'
import { hubKey } from '../wire/rules.js'
import { HubDriver, type HubDriverOptions } from './hub-driver.js'
import type { HubEngine } from './hub-engine.js'
import { CLOSE } from './hub-link.js'
import type { HubSession } from './hub-session.js'
import { MemoryBudget } from './memory-budget.js'

/** Keeps a server's hubs by name. A hub that the application has not opened is dropped after its last session. */
export class Hubs {
  readonly #options: HubDriverOptions
  readonly #budget: MemoryBudget
  readonly #allowed: ReadonlySet<string> | undefined
  readonly #hubs = new Map<string, HubDriver>()
  readonly #retainedNames = new Set<string>()

  /**
   * @param maxBytes - memory budget of all hubs
   * @param allowed - permitted names, or `undefined` to permit any name
   */
  constructor(options: Omit<HubDriverOptions, 'budget'>, maxBytes: number, allowed?: readonly string[]) {
    this.#budget = new MemoryBudget(maxBytes, isEnough => this.#evict(isEnough))
    this.#options = { ...options, budget: this.#budget }
    this.#allowed = allowed && new Set(allowed.map(hubKey))
  }

  get usedBytes(): number {
    return this.#budget.usedBytes
  }

  get sessionCount(): number {
    let count = 0
    for (const hub of this.#hubs.values()) count += hub.engine.sessionIndex.all.size
    return count
  }

  sessionCountOf(owner: string): number {
    let count = 0
    for (const hub of this.#hubs.values()) count += hub.engine.sessionIndex.ofOwner(owner).size
    return count
  }

  get all(): Iterable<HubDriver> {
    return this.#hubs.values()
  }

  allows(name: string): boolean {
    return this.#allowed?.has(hubKey(name)) ?? true
  }

  find(name: string): HubDriver | undefined {
    return this.#hubs.get(hubKey(name))
  }

  open(name: string): HubDriver {
    const key = hubKey(name)
    const existing = this.#hubs.get(key)
    if (existing !== undefined) return existing
    const hub = new HubDriver(this.#options)
    hub.connections$.subscribe(({ type }) => {
      if (type === 'disconnected' && hub.engine.sessionIndex.all.size === 0 && !this.#retainedNames.has(key))
        this.#drop(key, hub)
    })
    this.#hubs.set(key, hub)
    return hub
  }

  /** Opens a hub that is never dropped. Throws {@link ArgumentError} for a name that is not permitted. */
  openRetained(name: string): HubDriver {
    if (!this.allows(name)) throw new ArgumentError(`Unknown hub ${name}: add it to \`hubs\``)
    this.#retainedNames.add(hubKey(name))
    return this.open(name)
  }

  /** Evicts sessions of the owners that use the most memory, starting with each owner's heaviest session. */
  #evict(isEnough: () => boolean): void {
    const weights = new SessionWeights(this.#hubs.values())
    while (!isEnough()) {
      const heaviest = weights.removeHeaviest()
      if (heaviest === undefined) return
      const { engine, session } = heaviest
      engine.end(session, 'overflow', CLOSE.policy, 'memory limit reached, mostly by your data')
    }
  }

  #drop(key: string, hub: HubDriver): void {
    if (this.#hubs.get(key) === hub) this.#hubs.delete(key)
    hub.close()
  }
}

interface WeighedSession {
  readonly engine: HubEngine
  readonly session: HubSession
  readonly weight: number
}

/** An owner's sessions, heaviest last. */
interface OwnerSessions {
  readonly sessions: WeighedSession[]
  weight: number
}

/**
 * Takes a snapshot of the memory charged to sessions by owner. Many small sessions weigh as much as one large session.
 */
export class SessionWeights {
  readonly #owners = new Map<string, OwnerSessions>()

  constructor(hubs: Iterable<{ readonly engine: HubEngine }>) {
    for (const { engine } of hubs) for (const session of engine.sessionIndex.all) this.#add(engine, session)
    for (const { sessions } of this.#owners.values()) sessions.sort((a, b) => a.weight - b.weight)
  }

  /**
   * Removes and returns the heaviest session of the owner that is currently the heaviest, or `undefined` if none is
   * left.
   */
  removeHeaviest(): WeighedSession | undefined {
    let heaviest: OwnerSessions | undefined
    for (const owned of this.#owners.values()) if (owned.weight > (heaviest?.weight ?? 0)) heaviest = owned
    const removed = heaviest?.sessions.pop()
    if (heaviest && removed) heaviest.weight -= removed.weight
    return removed
  }

  #add(engine: HubEngine, session: HubSession): void {
    const weight = engine.chargedBytesOf(session)
    const owned = this.#owners.get(session.owner) ?? { sessions: [], weight: 0 }
    this.#owners.set(session.owner, owned)
    owned.sessions.push({ engine, session, weight })
    owned.weight += weight
  }
}
