import { expect, it } from 'vitest'
import { KeysWatch } from '../../../src/client/react/use-keys.js'

it('No keys are live, have no values and no error', () => {
  const watch = new KeysWatch<number>([])
  const told: unknown[] = []
  const stop = watch.subscribe(() => told.push(watch.read()))
  expect(told).toEqual([{ values: new Map(), freshness: { state: 'live' }, error: undefined }])
  stop()
})
