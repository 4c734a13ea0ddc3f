import type { Mutants } from './mutant.js'

const CONTRADICTED = 'if (version === undefined || version.compareTo(this.token) > 0) this.#lose(reason)'

/** The mutants of the code that upholds the guarantees of leases. */
export const lease: Mutants = {
  'src/client/lease/acquire-or-renew.ts': {
    'the expiry is counted from before the request': {
      seed: 77,
      code: 'return { applied, version, expiry }',
      becomes: `return {
          applied,
          version,
          expiry: { monotonic: clock.monotonic() + duration, wall: clock.now() + duration },
        }`,
    },
    'a late response does not extend an expired lease': {
      seed: 5,
      code: 'clock.monotonic() >= monotonic || clock.now() >= wall',
      becomes: 'false',
    },
    'a lease is released only by its holder': {
      seed: 22,
      code: 'store.deleteIf(key, utf8(holder), undefined, timeout)',
      becomes: 'store.delete(key, undefined, timeout)',
    },
    'a holder that leaves releases the lease': {
      seed: 2,
      code: 'store.deleteIf(key, utf8(holder), undefined, timeout)',
      becomes: 'defer(() => [])',
    },
  },
  'src/client/lease/held-lease.ts': {
    'a lease ends at its expiry': {
      seed: 2,
      code: 'this.#host.lost(reason, this.#lastError)',
      becomes: "if (reason !== 'expired') this.#host.lost(reason, this.#lastError)",
    },
    'a watch of the lock key that contradicts ends the lease': { seed: 2, code: CONTRADICTED },
    'a contradiction from before the lease is ignored': {
      seed: 359,
      code: CONTRADICTED,
      becomes: 'this.#lose(reason)',
    },
    'each lease has its own token': {
      seed: 1,
      code: 'this.token = first.version',
      becomes: 'this.token = globalThis.firstToken ??= first.version',
    },
    'a renewal does not change the token': {
      seed: 1,
      code: 'this.#confirmed = claim',
      becomes: 'this.#confirmed = claim\n    this.token = claim.version',
    },
  },
}
