import type { Mutants } from './mutant.js'

/** The mutants of the code that upholds the guarantees of watched keys. */
export const watch: Mutants = {
  'src/client/watch/reconcile.ts': {
    'a change no newer than the value shown is ignored': {
      seed: 3,
      code: 'if (isOlderOrSame(version, state.floor)) return state.isFloorInferred ? requestRead(state) : withoutEffects(state)',
    },
    'a change is preferred to the answer that it raced with': {
      seed: 13,
      code: "hasRaced: state.phase === 'reading' || state.hasRaced,",
      becomes: 'hasRaced: false,',
    },
    'a change that may have been queued is verified': {
      seed: 264,
      code: 'withoutEffects(state) : applyChange(state, event)',
      becomes: 'withoutEffects(state) : applyChange(state, { ...event, certain: true })',
    },
    'a read without a confirmed change does not end verification': {
      seed: 264,
      code: 'state.isVerified || firstMatch >= 0',
      becomes: 'true || firstMatch >= 0',
    },
    'an uncertain change causes a read': {
      seed: 5,
      code: 'return sendRead(patch(state, { held: [received] }))',
      becomes: 'return withoutEffects(state)',
    },
    'changes are verified after a response without a version': {
      seed: 6_734,
      code: 'if (state.isUnordered || !isCertain)',
      becomes: 'if (!isCertain)',
    },
    'changes are verified when a key is watched again': {
      seed: 20058,
      code: 'isUnordered: event.rejoined',
      becomes: 'isUnordered: false',
    },
    'changes that arrive during a read are evaluated after the read': {
      seed: 146,
      code: 'held: [...state.held, received].slice(-MAX_HELD_CHANGES)',
      becomes: 'held: NO_CHANGES',
    },
    'a change that matches what was read proves the following changes': {
      seed: 251,
      code: 'const isCertain = certain || state.isVerified',
      becomes: 'const isCertain = certain',
    },
    'an absence is ordered by its version': {
      seed: 33,
      code: 'const { value, version } = reading',
      becomes: 'const { value } = reading\n  const version = value && reading.version',
    },
    'a watch becomes live only after its key was read': {
      seed: 1,
      complaint: 'the last earlier change was not emitted',
      code: "return state.phase === 'registering' ? sendRead(state) : withoutEffects(state)",
      becomes:
        "return state.phase === 'registering' ? sendRead(patch(state, { isSynced: true })) : withoutEffects(state)",
    },
    'a known key is registered again on every connection': {
      seed: 3,
      code: "case 'connected':",
      becomes: `case 'connected':
      if (state.isKnown) return sendRead(patch(state, DISCONNECTED))`,
    },
  },
  'src/client/session/subscribe-retry.ts': {
    'requests wait for the SUBACK': {
      seed: 5,
      code: 'this.#session.subscribe(filters, subscriptionId, reasonCodes => {',
      becomes: `this.#session.subscribe(filters, subscriptionId, () => undefined)
    this.#notify(desired, filters.map(() => 0))
    void (reasonCodes => {`,
    },
  },
  'src/client/connect/subscription-manager.ts': {
    'every connection has a new subscription identifier': {
      seed: 1265,
      code: 'return this.#last',
      becomes: 'return 1',
    },
  },
  'src/client/watch/registry.ts': {
    'the registration ends when the last observer leaves': {
      seed: 1,
      code: 'if (watch.registration === undefined) this.#requests.unregister(watch, this.#closed !== undefined)',
    },
    'a watch that begins while a connection does is registered once': {
      seed: 9,
      code: `for (const watch of Array.from(this.#watches.values()))
      if (this.#connection === connection && watch.state.phase === 'offline')`,
      becomes: 'for (const watch of this.#watches.values())\n      if (this.#connection === connection)',
    },
  },
  'src/client/watch/watch.ts': {
    'an observer that joins during a step receives none of its entries': {
      seed: 5192,
      code: `for (const observer of inTurn(observers, freshness))
      if (observers === this.#observers || this.has(observer)) observer.signal(entries, freshness)`,
      becomes: `const before = new Set(this.#observers)
    for (const observer of inTurn(observers, freshness))
      if (observers === this.#observers || this.has(observer)) observer.signal(entries, freshness)
    for (const observer of this.#observers) if (!before.has(observer)) observer.signal(entries, freshness)`,
    },
  },
  'src/client/requests/earlier-writes.ts': {
    'a request stops waiting when its response can no longer arrive': {
      seed: 4,
      code: 'return writes ?? NONE',
      becomes: 'return NONE',
    },
    'the response for one key does not abandon a write to another key': {
      seed: 428,
      code: 'const writes = this.#writes.get(subject)',
      becomes: 'const writes = Array.from(this.#writes.values()).flat()\n    this.#writes.clear()',
    },
  },
}
