import type { Mutants } from './mutant.js'

// Removing only the clean start breaks no guarantee: changes queued by the previous node are recognised by their
// identifier, or verified by a read. So these mutants remove a second safeguard as well.
const WITHOUT_CLEAN_START = {
  file: 'src/client/session/addresses.ts',
  code: 'return this.#lastConnected !== undefined && this.#lastConnected !== this.current',
  becomes: 'return false',
}

/** What keeps the promises of watched keys where clients move between the nodes of a store. */
export const nodes: Mutants = {
  'spec/simulation/node.ts': {
    'a node answers only when it has caught up': { seed: 24, code: 'if (this.#applied < this.#due) return' },
  },
  'src/client/watch/reconcile.ts': {
    'changes queued by an old node are avoided by a clean start, or doubted': {
      seed: 635,
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
