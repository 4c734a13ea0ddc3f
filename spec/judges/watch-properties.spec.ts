import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { History } from '../../harness/judges/history.js'
import { WatchJudge } from '../../harness/judges/watch.js'
import type { Entry } from '../../src/client/index.js'
import { Hlc } from '../../src/core/hlc/hlc.js'

const ROOT = new URL('../../', import.meta.url)
const textOf = (file: string): string => readFileSync(new URL(file, ROOT), 'utf8')

it('the table of watch properties names for every violation a file that reports it', () => {
  const named = Array.from(textOf('docs/internals/watches.md').matchAll(/`(harness\/[^`]+)`: ((?:"[^"]+"(?:, )?)+)/g))
  const violations = named.flatMap(([, file = '', quoted = '']) =>
    Array.from(quoted.matchAll(/"([^"]+)"/g), ([, violation = '']) => ({ file, violation })),
  )
  expect(violations.length).toBeGreaterThan(7)
  expect(violations.filter(({ file, violation }) => !textOf(file).includes(violation))).toEqual([])
})

const versionOf = (place: number): Hlc => Hlc.parse(`${1_800_000_000_000 + place}:0:StateStore`)

/** Creates a judge of a key that was set to each value in turn, or deleted for `undefined`. */
function judgeOf(...values: readonly (string | undefined)[]): WatchJudge {
  const history = new History()
  for (const [place, value] of values.entries())
    history.record({ key: 'key', version: String(versionOf(place)), op: value === undefined ? 'delete' : 'set', value })
  return new WatchJudge(history, 'key', { hasPositions: true, hasDuplicates: false })
}

const CERTAIN = { position: undefined, isCertain: true, wasDelivered: true }
const set = (value: string, place: number): Entry<string> => ({
  key: 'key',
  op: 'set',
  value,
  version: versionOf(place),
  source: 'notification',
})

describe('the judge of a watch', () => {
  it('the judge rejects entries out of order', () => {
    const judge = judgeOf('a', 'b')
    expect(judge.judge(set('b', 1), CERTAIN)).toBeUndefined()
    expect(judge.judge(set('a', 0), CERTAIN)).toBe('it is not newer than the entry before')
  })

  it('the judge rejects a repeated entry', () => {
    const judge = judgeOf('a')
    expect(judge.judge(set('a', 0), CERTAIN)).toBeUndefined()
    expect(judge.judge(set('a', 0), CERTAIN)).toBe('it is not newer than the entry before')
  })

  it('the judge rejects missing changes while the watch is live', () => {
    const [live, stale] = [judgeOf('a', 'b', 'c'), judgeOf('a', 'b', 'c')]
    for (const judge of [live, stale]) judge.judge(set('a', 0), CERTAIN)
    live.setLive(true, 1)
    expect(live.judge(set('c', 2), CERTAIN)).toBe('1 earlier changes were not emitted')
    expect(stale.judge(set('c', 2), CERTAIN)).toBeUndefined()
  })

  it('the judge rejects an entry whose value and version belong to different changes', () => {
    expect(judgeOf('a', 'b').judge(set('a', 1), CERTAIN)).toBe('it never happened')
  })

  it('the judge rejects a watch that is live before it has shown everything that was read', () => {
    const wrong = 'it is live, but the last earlier change was not emitted'
    const judge = judgeOf('a', 'b', undefined)
    judge.judge(set('a', 0), CERTAIN)
    expect([judge.setLive(true, 1), judge.setLive(true, 2), judge.setLive(true, 3)]).toEqual([undefined, wrong, wrong])
    judge.judge(set('b', 1), CERTAIN)
    expect([judge.setLive(true, 2), judge.setLive(true, 3), judge.setLive(false, 3)]).toEqual([
      undefined,
      wrong,
      undefined,
    ])
  })
})
