import { ArgumentError } from '../../errors.js'
import { HubDriver, type HubDriverOptions } from './hub-driver.js'
import { hubKey } from './names.js'

/** The hubs of a server, by name. Those that only clients know are forgotten with their last session. */
export class Hubs {
  readonly #options: HubDriverOptions
  readonly #allowed: ReadonlySet<string> | undefined
  readonly #hubs = new Map<string, HubDriver>()
  /** Names that the application has asked for. */
  readonly #kept = new Set<string>()

  /** @param allowed - names of the hubs there can be; any without it */
  constructor(options: HubDriverOptions, allowed?: readonly string[]) {
    this.#options = options
    this.#allowed = allowed && new Set(allowed.map(hubKey))
  }

  /** Sessions at all hubs. */
  get sessions(): number {
    let count = 0
    for (const hub of this.#hubs.values()) count += hub.engine.roster.all.size
    return count
  }

  get all(): Iterable<HubDriver> {
    return this.#hubs.values()
  }

  /** Whether there can be such a hub. */
  allows(name: string): boolean {
    return this.#allowed?.has(hubKey(name)) ?? true
  }

  /** The hub, if there is anything to know of it. */
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

  /** The hub, for the application; never forgotten. Throws {@link ArgumentError} for one that there cannot be. */
  keep(name: string): HubDriver {
    if (!this.allows(name)) throw new ArgumentError(`There is no hub ${name}: it is not one of \`hubs\``)
    this.#kept.add(hubKey(name))
    return this.open(name)
  }

  #forget(key: string, hub: HubDriver): void {
    this.#hubs.delete(key)
    hub.close()
  }
}
