import type { Mutants } from './mutant.js'

/** What keeps the promises of watched keys where the store is beside its broker. */
export const beside: Mutants = {
  'src/client/connect/store-instance-monitor.ts': {
    'the client notices another instance of the store by its answers': {
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
