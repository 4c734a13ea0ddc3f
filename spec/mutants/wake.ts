import type { Mutants } from './mutant.js'

/** The mutants of the check of a connection after system sleep. */
export const wake: Mutants = {
  'src/client/session/wake.ts': {
    'a link on which bytes arrive after a wake is kept': {
      seed: 1,
      code: 'received !== undefined && this.#link.received() === received',
      becomes: 'received !== undefined',
    },
    'a dead link is dropped after a wake': { seed: 4, code: 'if (aheadMs > MIN_JUMP_MS) task()' },
    'one check runs at a time': { seed: 3, code: 'if (this.#cancel) return' },
  },
}
