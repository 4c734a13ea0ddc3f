import { NEVER } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { ClosedError, type Codec, DecodeError, Hlc, number } from '../../../src/client/index.js'
import { SOURCE } from '../../../src/client/keys/source.js'
import { EntryReader, type KeyState, snapshotOf, UNWATCHED } from '../../../src/client/react/use-key.js'
import type { RawEntry } from '../../../src/client/watch/watch-state.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import { record } from '../../support/open-client.js'
import { fakeStore } from '../../support/operator-session.js'

const version = new Hlc(1, 0, 'S')
const live = { state: 'live' } as const
const open = () => {
  const { store } = fakeStore(() => NEVER)
  const source = store.key('k', number)[SOURCE]
  return { decode: (raw: RawEntry) => source.decode(raw), errors: record(store.errors$) }
}
/** Returns the snapshot of a key that holds this text. */
function snapshotWith(stored: string, state: Omit<KeyState, 'raw'>, { decode } = open()) {
  const raw = { op: 'set', value: utf8(stored), version, source: 'snapshot' } as const
  return snapshotOf(decode(raw), { ...state, raw })
}

describe('the snapshot of a key', () => {
  it('is empty before the first entry, and empty without a key', () => {
    const nothing = { value: undefined, entry: undefined, freshness: { state: 'connecting' }, error: undefined }
    expect(snapshotOf(undefined, UNWATCHED)).toEqual(nothing)
  })

  it('has value, entry and freshness', () => {
    expect(snapshotWith('21.5', { freshness: live, error: undefined })).toEqual({
      value: 21.5,
      entry: { key: 'k', op: 'set', value: 21.5, version, source: 'snapshot' },
      freshness: live,
      error: undefined,
    })
  })

  it('that cannot be decoded has an error instead of a value, and nothing is reported', () => {
    const bench = open()
    const snapshot = snapshotWith('warm', { freshness: live, error: undefined }, bench)
    expect(snapshot).toMatchObject({ value: undefined, entry: { op: 'invalid' }, error: { code: 'decode', key: 'k' } })
    expect(snapshot.error).toBeInstanceOf(DecodeError)
    expect(bench.errors.values).toEqual([])
  })

  it('keeps the last value next to the error that ended the watch', () => {
    const freshness = { state: 'stale', since: 7 } as const
    const error = new ClosedError()
    expect(snapshotWith('21', { freshness, error })).toMatchObject({
      value: 21,
      freshness,
      error,
    })
    expect(snapshotWith('warm', { freshness, error }).error).toBe(error)
  })
})

describe('a value that cannot be decoded', () => {
  const raw = { op: 'set', value: utf8('warm'), version, source: 'snapshot' } as const
  const nextTask = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

  it('an error thrown while rendering is reported once for all renderings', async () => {
    const { store } = fakeStore(() => NEVER)
    const errors = record(store.errors$)
    const render = (codec: Codec<number>): void => {
      const { error } = new EntryReader(store.key('k', codec)[SOURCE]).snapshotOf({
        raw,
        freshness: live,
        error: undefined,
      })
      if (error) throw error
    }
    for (let i = 0; i < 3; i++) expect(() => render({ ...number })).toThrow('cannot be decoded')
    expect(errors.values).toEqual([])
    await nextTask()
    expect(errors.values.map(({ code }) => code)).toEqual(['decode'])
    await nextTask()
    expect(errors.values).toHaveLength(1)
  })
})
