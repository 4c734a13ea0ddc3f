import type { Mutants } from './mutant.js'

/** The mutants of the code that upholds the guarantees of device shadows. */
export const shadow: Mutants = {
  'src/client/shadow/fields.ts': {
    'a write keeps the fields that other clients have written': {
      seed: 6,
      code: 'if (!isMine) setField(result, name, fieldOf(theirs, name))',
    },
    'a new patch does not include the fields of earlier patches again': {
      seed: 6,
      code: 'changed?.has(name) ?? !isSame(fieldOf(mine, name), fieldOf(base, name))',
      becomes: 'Object.hasOwn(mine, name)',
    },
    'a patch includes the fields of unsent patches that it superseded': {
      seed: 1,
      code: 'changed?.has(name)',
      becomes: '(changed && new Set(Array.from(changed).slice(0, 1)))?.has(name)',
    },
  },
  'src/client/optimistic/write-sender.ts': {
    'a write is conditional on its base version': {
      seed: 6,
      code: 'condition: conditionFor(expected, text)',
      becomes: 'condition: undefined',
    },
  },
  'src/client/shadow/index.ts': {
    'a device applies one delta at a time': {
      seed: 6,
      code: 'if (isBusy || delta === undefined',
      becomes: 'if (delta === undefined',
    },
    'a delta that arrives while the device is busy is kept': {
      seed: 12,
      code: 'next = isEmpty(delta.delta) ? undefined : delta',
      becomes: 'next = isBusy || isEmpty(delta.delta) ? undefined : delta',
    },
  },
  'src/client/shadow/delta.ts': {
    'a device receives a delta again when its report was lost': {
      seed: 429,
      code: 'concatMap(report => tracker.onReport(report))',
      becomes: 'concatMap(() => [])',
    },
  },
}
