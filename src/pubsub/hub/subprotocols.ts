import type { Dialect } from './dialect.js'

/** A subprotocol both sides speak. */
export interface Agreement {
  /** As the client spells it, which is how it wants to hear it. */
  readonly name: string
  readonly dialect: Dialect
}

/** The first of the offered subprotocols that is known; upper and lower case are the same. */
export function agree(offered: readonly string[], known: readonly Dialect[]): Agreement | undefined {
  for (const name of offered) {
    const dialect = known.find(candidate => candidate.name === name.toLowerCase())
    if (dialect) return { name, dialect }
  }
  return undefined
}
