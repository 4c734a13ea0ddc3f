import type { Mutants } from './mutant.js'

const REGISTRATION = 'defer(() => store.notifyGlob(glob, false, timeout)).pipe('

/** The mutants of the code that upholds the guarantees of watched globs. */
export const glob: Mutants = {
  'src/client/matching/register-glob.ts': {
    'existing keys are found by a scan': {
      seed: 1,
      code: 'next: ({ keys }) => events.found(keys), complete',
      becomes: 'complete',
    },
    'the scan follows the registration': {
      seed: 2,
      code: 'return register(false).pipe(',
      becomes: `const { found } = events
  return defer(() => store.scan(glob, undefined, timeout)).pipe(
    catchError(() => of({ keys: [] })),
    tap(({ keys }) => (events.found = () => found(keys))),
    switchMap(() => register(false)),`,
    },
    'a glob is registered on every connection': {
      seed: 2,
      code: REGISTRATION,
      becomes: `defer(() => (store.isRegistered ? of(undefined) : store.notifyGlob(glob, false, timeout))).pipe(
      tap(() => (store.isRegistered = true)),`,
    },
    'a registration with late or lost responses is requested again': {
      seed: 6,
      code: "result === 'unanswered' ? registerLater$.pipe(startWith(result)) : of(result)",
      becomes: 'of(result)',
    },
    'a store without notifications is scanned repeatedly': {
      seed: 29,
      code: 'after(events.scanInterval(), clock)',
      becomes: 'after(Number.MAX_SAFE_INTEGER, clock)',
    },
  },
  'src/client/matching/glob-watch.ts': {
    'the position of the registration distinguishes new keys from old keys': {
      seed: 200,
      code: 'change.value &&\n      version.compareTo(this.#registeredAt) > 0',
      becomes: 'change.value',
    },
    'a change with unknown history is verified': {
      seed: 47,
      code: "this.#add(key, isFirst ? 'appeared' : 'changed')",
      becomes: "this.#add(key, 'appeared')",
    },
    'the registration ends when the last observer leaves': {
      seed: 2,
      code: 'return this.#isConnected && !this.#isRefused',
      becomes: 'return false',
    },
  },
  'src/client/watch/watch.ts': {
    'a notification of a glob ends the pending read of its key': {
      seed: 778,
      code: "if (isSynced || !(phase === 'reading' || (phase === 'registering' && this.registration))) return false",
      becomes: 'return false',
    },
  },
  'src/client/matching/glob-member.ts': {
    'a deleted key is remembered while a watch shares the registration': {
      seed: 1121,
      code: 'return this.watch?.registration === registration && this.watch.isShared',
      becomes: 'return false',
    },
  },
  'src/client/watch/registry.ts': {
    'a key that outlives its glob gets a registration': {
      seed: 73,
      code: 'if (watch?.registration !== registration) return',
      becomes: 'return',
    },
    'versions of forgotten keys are remembered': {
      seed: 741,
      code: "return state && state.phase !== 'live' ? 'unsettled' : state?.floor",
      becomes: 'return { compareTo: () => -1 }',
    },
  },
  'src/client/matching/glob-registry.ts': {
    'an unanswered STOP is sent again': {
      seed: 56,
      code: '(_, attempt) => attempt === MAX_STOP_ATTEMPTS',
      becomes: '() => true',
    },
    'a glob that is watched again cancels its STOP': { seed: 49, code: 'this.#stops.get(id)?.unsubscribe()' },
  },
}
