import type { Mutants } from './mutant.js'

/** The mutants of the code that upholds the guarantees of watched keys at an attached store. */
export const beside: Mutants = {
  'src/client/connect/store-instance-monitor.ts': {
    'the client detects another instance of the store by its responses': {
      seed: 1,
      code: "if (typeof instanceId !== 'string') return",
      becomes: 'return',
    },
  },
  'src/client/connect/subscription-manager.ts': {
    'watches are registered again with another instance of the store': {
      seed: 1,
      code: 'if (!this.#isOpen || this.#info === undefined) return',
      becomes: 'return',
    },
  },
}
