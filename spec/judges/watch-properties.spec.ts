import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Entry } from '../../src/client/index.js'
import { Hlc } from '../../src/core/hlc/hlc.js'
import { utf8 } from '../../src/core/util/bytes.js'
import { History } from '../simulation/history.js'
import { Oracle } from '../simulation/oracle.js'

const ROOT = new URL('../../', import.meta.url)
const textOf = (file: string): string => readFileSync(new URL(file, ROOT), 'utf8')

it('the table of watch properties names for every violation a file that reports it', () => {
  const named = Array.from(textOf('docs/internals/watches.md').matchAll(/`(spec\/[^`]+)`: ((?:"[^"]+"(?:, )?)+)/g))
  const violations = named.flatMap(([, file = '', quoted = '']) =>
    Array.from(quoted.matchAll(/"([^"]+)"/g), ([, violation = '']) => ({ file, violation })),
  )
  expect(violations.length).toBeGreaterThan(10)
  expect(violations.filter(({ file, violation }) => !textOf(file).includes(violation))).toEqual([])
})

const versionOf = (place: number): Hlc => Hlc.parse(`${1_800_000_000_000 + place}:0:StateStore`)

/** Creates an oracle of a key that was set to each value in turn, or deleted for `undefined`. */
function oracleOf(...values: readonly (string | undefined)[]): Oracle {
  const history = new History()
  for (const [place, value] of values.entries())
    history.record({
      key: utf8('key'),
      version: versionOf(place),
      notification: value === undefined ? { op: 'delete' } : { op: 'set', value: utf8(value) },
    })
  return new Oracle(history, 'key', { hasPositions: true, hasDuplicates: false })
}

const CERTAIN = { position: undefined, isCertain: true, wasDelivered: true }
const set = (value: string, place: number): Entry<string> => ({
  key: 'key',
  op: 'set',
  value,
  version: versionOf(place),
  source: 'notification',
})

describe('the oracle of a watch', () => {
  it('the oracle rejects entries out of order', () => {
    const oracle = oracleOf('a', 'b')
    expect(oracle.judge(set('b', 1), CERTAIN)).toBeUndefined()
    expect(oracle.judge(set('a', 0), CERTAIN)).toBe('it is not newer than the entry before')
  })

  it('the oracle rejects a repeated entry', () => {
    const oracle = oracleOf('a')
    expect(oracle.judge(set('a', 0), CERTAIN)).toBeUndefined()
    expect(oracle.judge(set('a', 0), CERTAIN)).toBe('it is not newer than the entry before')
  })

  it('the oracle rejects missing changes while the watch is live', () => {
    const [live, stale] = [oracleOf('a', 'b', 'c'), oracleOf('a', 'b', 'c')]
    for (const oracle of [live, stale]) oracle.judge(set('a', 0), CERTAIN)
    live.setLive(true, 1)
    expect(live.judge(set('c', 2), CERTAIN)).toBe('1 earlier changes were not emitted')
    expect(stale.judge(set('c', 2), CERTAIN)).toBeUndefined()
  })

  it('the oracle rejects an entry whose value and version belong to different changes', () => {
    expect(oracleOf('a', 'b').judge(set('a', 1), CERTAIN)).toBe('it never happened')
  })

  it('the oracle rejects a watch that is live before it has shown everything that was read', () => {
    const wrong = 'it is live, but the last earlier change was not emitted'
    const oracle = oracleOf('a', 'b', undefined)
    oracle.judge(set('a', 0), CERTAIN)
    expect([oracle.setLive(true, 1), oracle.setLive(true, 2), oracle.setLive(true, 3)]).toEqual([
      undefined,
      wrong,
      wrong,
    ])
    oracle.judge(set('b', 1), CERTAIN)
    expect([oracle.setLive(true, 2), oracle.setLive(true, 3), oracle.setLive(false, 3)]).toEqual([
      undefined,
      wrong,
      undefined,
    ])
  })
})
