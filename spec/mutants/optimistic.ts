import type { Mutants } from './mutant.js'

const HAS_CHANGED = 'const hasChanged = sentPosition !== undefined && changeCount > sentPosition.changeCount'

/** The mutants of the code that upholds the guarantees of optimistic writes. */
export const optimistic: Mutants = {
  'src/client/optimistic/confirmed-state.ts': {
    'a notification older than the known version is ignored': {
      seed: 7,
      code: 'return applyWatched(state, observation)',
      becomes: 'return applyWatched({ ...state, floor: undefined }, observation)',
    },
    'a response from an earlier connection is verified': {
      seed: 1_511,
      code: 'return applyWrite(state, observation)',
      becomes: 'return applyWrite(state, { ...observation, from: { ...observation.from, epoch: state.epoch } })',
    },
    'a response older than the known version is ignored': {
      seed: 150,
      code: 'return applyWrite(state, observation)',
      becomes: 'return applyWrite({ ...state, floor: undefined }, observation)',
    },
    'versions are not compared across connections': {
      seed: 2,
      code: 'epoch: state.epoch + 1, floor: undefined, isAheadOfWatch: false',
      becomes: 'epoch: state.epoch + 1, isAheadOfWatch: false',
    },
    'a write without a notification is read again': {
      seed: 3045,
      code: 'accept(state, bytes, version, version), isAheadOfWatch: true',
      becomes: 'accept(state, bytes, version, version), isAheadOfWatch: false',
      also: [
        {
          code: 'isAheadOfWatch: state.isAheadOfWatch || next.changeCount > state.changeCount',
          becomes: 'isAheadOfWatch: false',
        },
      ],
    },
  },
  'src/client/optimistic/key-tracker.ts': {
    'an unknown outcome does not count as written': { seed: 18, code: HAS_CHANGED, becomes: "return 'written'" },
    'an unknown outcome does not count as not written': {
      seed: 18,
      code: "return isExpired ? 'not written' : undefined",
      becomes: "return 'not written'",
    },
    'an unknown outcome is resolved': {
      seed: 92,
      code: HAS_CHANGED,
      becomes: `if (isExpired) return undefined\n  ${HAS_CHANGED}`,
    },
  },
  'src/client/optimistic/write-sender.ts': {
    'a write is conditional on what its user saw': {
      seed: 9,
      code: 'condition: conditionFor(expected, text)',
      becomes: 'condition: undefined',
    },
  },
  'src/client/optimistic/user-write.ts': {
    'a write has an age': {
      seed: 10,
      code: 'return wall < 0 && this.isRestored\n      ? Number.POSITIVE_INFINITY\n      : Math.max(wall, clock.monotonic() - this.#writtenAtMonotonic)',
      becomes: 'return 0',
    },
  },
  'src/client/optimistic/queued-write.ts': {
    'a late write is approved before it is sent': {
      seed: 45,
      code: "this.#settings.offline === 'ask' && isLate && !isApproved",
      becomes: 'false',
    },
    'a late write is removed from the storage before it is sent': {
      seed: 45,
      code: 'else if (write.isStored) this.#claim(write)',
      becomes: `else if (write.isStored) {
      write.isStored = false
      return this.#remove()
    }`,
    },
    'one write is in flight at a time': {
      seed: 1,
      code: 'conditions.isBusy || this.#isClaiming',
      becomes: 'this.#isClaiming',
    },
  },
  'src/client/optimistic/write-controller.ts': {
    'a view without subscribers loads the stored write before it saves a new one': {
      seed: 4,
      code: `    this.#queuedWrite.open()
    // A callback may have unsubscribed, or written.
    if (this.#activeWatch !== activeWatch) return
`,
      complaint: 'and its storage has',
      also: [
        {
          code: 'if (this.#activeWatch === activeWatch) host.registry.join(key, this)',
          becomes: `if (this.#activeWatch === activeWatch) host.registry.join(key, this)
    if (this.#activeWatch === activeWatch) this.#queuedWrite.open()`,
        },
        {
          file: 'src/client/optimistic/queued-write.ts',
          code: 'if (stored.id === this.#userWrite?.id) return',
        },
      ],
    },
  },
  'src/client/connect/client.ts': {
    'a closed client without a connection does not connect again': {
      seed: 2491,
      code: 'if (!isConnected) this.#stop()',
    },
    'a client that loses its connection while closing does not connect again': {
      seed: 145,
      code: 'if (this.#isClosing) this.#stop()',
    },
  },
}
