import { describe, expect, it } from 'vitest'
import { connectionsWithin, countOpenDescriptors, maxOpenDescriptors } from '../../../src/node/net/descriptors.js'

describe('the maximum of connections of a process with few file descriptors', () => {
  it.each([
    ['a large limit changes nothing', [30, 100_000], 50_000],
    ['an unknown limit changes nothing', [undefined, undefined], 50_000],
    ['a small limit leaves at least 16 descriptors', [24, 64], 24],
    ['an eighth of a larger limit is left', [24, 1_024], 872],
    ['at least one connection remains', [60, 64], 1],
  ] as const)('%s', (_, [open, max], expected) => {
    const warnings: string[] = []
    expect(connectionsWithin(50_000, message => warnings.push(message), [open, max])).toBe(expected)
    const words = [`the limit of ${max} open files allows ${expected} connections instead of 50000`]
    expect(warnings.map(text => text.split(':')[0])).toEqual(expected === 50_000 ? [] : words)
  })

  it('the soft limit is read, and a missing one is unknown', () => {
    const limits =
      'Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 4096    files\n'
    expect(maxOpenDescriptors(() => limits)).toBe(1_024)
    expect(maxOpenDescriptors(() => 'Max open files  unlimited  unlimited  files')).toBeUndefined()
    expect(maxOpenDescriptors(() => expect.fail('no such file'))).toBeUndefined()
    if (process.platform === 'linux') expect(countOpenDescriptors()).toBeGreaterThan(2)
  })
})
