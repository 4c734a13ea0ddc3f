import { beforeAll, describe, expect, it } from 'vitest'
import { buildChecker, checkHistories } from '../../../chaos/cluster/porcupine.js'
import type { Operation } from '../../../chaos/cluster/registers.js'

const BUILD_TIME = 300_000

type Timed = Omit<Operation, 'client' | 'invoke' | 'return'>

/** Returns an operation between two times. Without the second time, its outcome is unknown. */
const at = (invoke: number, end: number | null, operation: Timed): Operation => ({
  client: 0,
  ...operation,
  invoke,
  return: end,
})
const set = (value: string): Timed => ({ op: 'set', value, applied: true })
const setIfVersion = (value: string, expected: string, applied: boolean): Timed => ({
  op: 'set-if-version',
  value,
  expected,
  applied,
})
const setIfAbsent = (value: string, applied: boolean): Timed => ({ op: 'set-if-absent', value, applied })
const deleteIf = (expected: string, applied: boolean): Timed => ({ op: 'delete-if', expected, applied })
const read = (found: string): Timed => ({ op: 'read', found })

const GOOD: Record<string, Operation[]> = {
  'requests one after the other': [at(1, 2, set('a')), at(3, 4, read('a')), at(5, 6, { op: 'delete', applied: true })],
  'two concurrent writes that are read in either order': [
    at(1, 9, set('a')),
    at(2, 8, set('b')),
    at(10, 11, read('a')),
  ],
  'conditions that hold and conditions that do not': [
    at(1, 2, setIfAbsent('a', true)),
    at(3, 4, setIfAbsent('b', false)),
    at(5, 6, setIfVersion('c', 'a', true)),
    at(7, 8, setIfVersion('d', 'a', false)),
    at(9, 10, deleteIf('a', false)),
    at(11, 12, deleteIf('c', true)),
    at(13, 14, { op: 'delete', applied: false }),
  ],
  'a write of an unknown outcome that takes effect late': [
    at(1, null, { op: 'set', value: 'a' }),
    at(2, 3, set('b')),
    at(4, 5, read('b')),
    at(6, 7, read('a')),
  ],
  'a write of an unknown outcome that never takes effect': [
    at(1, null, { op: 'set', value: 'a' }),
    at(2, 3, set('b')),
    at(4, 5, read('b')),
  ],
  'a deletion of an unknown outcome': [
    at(1, 2, set('a')),
    at(3, null, { op: 'delete' }),
    at(4, 5, read('a')),
    at(6, 7, read('')),
  ],
}

const BAD: Record<string, Operation[]> = {
  'an acknowledged write that is lost': [at(1, 2, set('a')), at(3, 4, set('b')), at(5, 6, read('a'))],
  'a stale read': [at(1, 2, set('a')), at(3, 9, set('b')), at(4, 5, read('b')), at(6, 7, read('a'))],
  'a read of a value that was never written': [at(1, 2, set('a')), at(3, 4, read('b'))],
  'a read of a value before its write': [at(1, 2, read('a')), at(3, 4, set('a'))],
  'two conditional writes that both found the key absent': [
    at(1, 4, setIfAbsent('a', true)),
    at(2, 3, setIfAbsent('b', true)),
  ],
  'two conditional writes that both matched the same version': [
    at(1, 2, set('a')),
    at(3, 6, setIfVersion('b', 'a', true)),
    at(4, 5, setIfVersion('c', 'a', true)),
  ],
  'a condition that held but was reported as not met': [at(1, 2, set('a')), at(3, 4, setIfVersion('b', 'a', false))],
  'a write of an unknown outcome that takes effect twice': [
    at(1, null, { op: 'set', value: 'a' }),
    at(2, 3, set('b')),
    at(4, 5, read('a')),
    at(6, 7, set('c')),
    at(8, 9, read('a')),
  ],
  'a write of an unknown outcome that takes effect before its request': [
    at(1, 2, read('a')),
    at(3, null, { op: 'set', value: 'a' }),
  ],
}

const lines = (histories: Record<string, Operation[]>): string[] =>
  Object.entries(histories).map(([key, operations]) => `${JSON.stringify({ key, operations })}\n`)

describe('the checker of histories', () => {
  beforeAll(buildChecker, BUILD_TIME)

  it('the checker accepts linearizable histories', async () => {
    expect(await checkHistories(lines(GOOD))).toEqual({
      keys: Object.keys(GOOD).length,
      operations: Object.values(GOOD).flat().length,
      unknown: 3,
      illegal: [],
      undecided: [],
    })
  })

  it.each(Object.keys(BAD))('the checker rejects %s', async key => {
    const { illegal } = await checkHistories(lines({ ...GOOD, [key]: BAD[key] ?? [] }))
    expect(illegal).toEqual([key])
  })

  it('the checker reports invalid input', async () => {
    await expect(checkHistories(['{"key": 1}\n'])).rejects.toThrow(/cannot unmarshal/)
    await expect(checkHistories(lines({ x: [at(1, 2, { op: 'ask' as 'read' })] }))).rejects.toThrow(/that is none: ask/)
  })
})
