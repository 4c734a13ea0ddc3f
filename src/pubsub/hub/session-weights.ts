import type { HubEngine } from './hub-engine.js'
import type { HubSession } from './hub-session.js'

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
