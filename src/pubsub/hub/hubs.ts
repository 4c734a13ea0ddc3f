import { ArgumentError } from '../../core/util/errors.js'
import { Timeouts } from '../../core/util/timeouts.js'
import { MemoryBudget } from '../../node/limits/memory-budget.js'
import { type Evictable, MemoryEvictor } from '../../node/limits/memory-evictor.js'
import { hubKey } from '../wire/rules.js'
import { HubDriver, type HubDriverOptions } from './hub-driver.js'
import { CLOSE } from './hub-link.js'

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
    this.#budget = new MemoryBudget(maxBytes, () => evictor.evict())
    const { clock } = options
    const host = { clock, timeouts: new Timeouts<() => void>(clock, task => task()), budget: this.#budget }
    const sessions = () => this.#evictableSessions()
    const count = () => this.sessionCount
    const evictor = new MemoryEvictor(host, {
      get size() {
        return count()
      },
      values: sessions,
    })
    this.#options = { ...options, budget: this.#budget }
    this.#allowed = allowed && new Set(allowed.map(hubKey))
  }

  get usedBytes(): number {
    return this.#budget.used
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

  *#evictableSessions(): Iterable<Evictable> {
    for (const { engine } of this.#hubs.values())
      for (const session of engine.sessionIndex.all)
        yield {
          heldBytes: engine.chargedBytesOf(session),
          transientBytes: 0,
          accountName: session.owner,
          evict: () => engine.end(session, 'overflow', CLOSE.policy, 'memory limit reached, mostly by your data'),
        }
  }

  #drop(key: string, hub: HubDriver): void {
    if (this.#hubs.get(key) === hub) this.#hubs.delete(key)
    hub.close()
  }
}
