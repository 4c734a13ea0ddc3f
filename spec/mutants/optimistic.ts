import type { Mutants } from './mutant.js'

const HAS_CHANGED = 'const hasChanged = from !== undefined && steps > from.steps'

/** What keeps the promises of optimistic writes. */
export const optimistic: Mutants = {
  'src/client/optimistic/confirmed-state.ts': {
    'a notification older than the known version is ignored': {
      seed: 7,
      code: 'return told(truth, fact)',
      becomes: 'return told({ ...truth, floor: undefined }, fact)',
    },
    'an answer from an earlier connection is doubted': {
      seed: 470,
      code: 'return written(truth, fact)',
      becomes: 'return written(truth, { ...fact, from: { ...fact.from, epoch: truth.epoch } })',
    },
    'an answer older than the known version is ignored': {
      seed: 103,
      code: 'return written(truth, fact)',
      becomes: 'return written({ ...truth, floor: undefined }, fact)',
    },
    'versions are not compared across connections': {
      seed: 2,
      code: 'epoch: truth.epoch + 1, floor: undefined, ahead: false',
      becomes: 'epoch: truth.epoch + 1, ahead: false',
    },
    'a write without a notification is read again': {
      seed: 3045,
      code: 'accept(truth, bytes, version, version), ahead: true',
      becomes: 'accept(truth, bytes, version, version), ahead: false',
      also: [{ code: 'ahead: truth.ahead || next.steps > truth.steps', becomes: 'ahead: false' }],
    },
  },
  'src/client/optimistic/key-tracker.ts': {
    'an unknown outcome does not count as written': { seed: 33, code: HAS_CHANGED, becomes: "return 'written'" },
    'an unknown outcome does not count as not written': {
      seed: 33,
      code: "return isOver ? 'not written' : undefined",
      becomes: "return 'not written'",
    },
    'an unknown outcome is resolved': {
      seed: 2,
      code: HAS_CHANGED,
      becomes: `if (isOver) return undefined\n  ${HAS_CHANGED}`,
    },
  },
  'src/client/optimistic/write-sender.ts': {
    'a write is conditional on what its user saw': {
      seed: 13,
      code: 'condition: conditionFor(upon, text)',
      becomes: 'condition: undefined',
    },
  },
  'src/client/optimistic/user-write.ts': {
    'a write has an age': {
      seed: 14,
      code: 'return wall < 0 && this.restored ? Number.POSITIVE_INFINITY : Math.max(wall, clock.monotonic() - this.#since)',
      becomes: 'return 0',
    },
  },
  'src/client/optimistic/queued-write.ts': {
    'a late write is approved before it is sent': {
      seed: 45,
      code: "this.#terms.offline === 'ask' && late && !approved",
      becomes: 'false',
    },
    'a late write is removed from the storage before it is sent': {
      seed: 242,
      code: 'else if (write.stored) this.#take(write)',
      becomes: `else if (write.stored) {
      write.stored = false
      return this.#remove()
    }`,
    },
    'one write is in flight at a time': {
      seed: 1,
      code: 'chances.isBusy || this.#taking',
      becomes: 'this.#taking',
    },
  },
  'src/client/connect/client.ts': {
    'a client without a connection stays away once it is closed': {
      seed: 2491,
      code: 'if (!isConnected) this.#stop()',
    },
    'a client that loses its connection while it is closed stays away': {
      seed: 1_863_360_071,
      code: 'if (this.#isLeaving) this.#stop()',
    },
  },
}
