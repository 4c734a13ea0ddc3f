import type { Mutants } from './mutant.js'

// Removing only the clean start violates no guarantee, because changes queued by the previous node are recognised by
// their identifier or verified by a read. Therefore these mutants also remove a second safeguard.
const WITHOUT_CLEAN_START = {
  file: 'src/client/session/addresses.ts',
  code: 'return this.#lastConnected !== undefined && this.#lastConnected !== this.current',
  becomes: 'return false',
}

/** The mutants of the code that upholds the guarantees of watched keys when clients move between nodes. */
export const nodes: Mutants = {
  'spec/simulation/worlds/node.ts': {
    'a node responds only after it has caught up': { seed: 24, code: 'if (this.#applied < this.#due) return' },
  },
  'src/client/watch/reconcile.ts': {
    'changes queued by an old node are avoided by a clean start or verified': {
      seed: 960,
      code: 'withoutEffects(state) : applyChange(state, event)',
      becomes: 'withoutEffects(state) : applyChange(state, { ...event, certain: true })',
      complaint: 'not newer than the entry before',
      also: [WITHOUT_CLEAN_START],
    },
  },
  'src/client/connect/subscription-manager.ts': {
    'changes queued by an old node are avoided by a clean start, or have another identifier': {
      seed: 329,
      code: 'return this.#last',
      becomes: 'return 1',
      also: [WITHOUT_CLEAN_START],
    },
  },
}
