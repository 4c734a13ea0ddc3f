import { expect, it } from 'vitest'
import { KeysWatch } from '../../../src/client/react/use-keys.js'

it('an empty list of keys is live, without values or error', () => {
  const watch = new KeysWatch<number>([])
  const snapshots: unknown[] = []
  const stop = watch.subscribe(() => snapshots.push(watch.read()))
  expect(snapshots).toEqual([{ values: new Map(), freshness: { state: 'live' }, error: undefined }])
  stop()
})
