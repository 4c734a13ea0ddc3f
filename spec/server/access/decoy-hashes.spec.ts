import { describe, expect, it } from 'vitest'
import {
  costOf,
  DecoyHashes,
  decoyHash,
  type HashCost,
  matchesHash,
  type User,
} from '../../../src/server/access/passwords.js'

const [CHEAP, DEAR]: readonly HashCost[] = [
  { cost: 2, blockSize: 1, parallel: 1 },
  { cost: 4, blockSize: 1, parallel: 1 },
]
const KEY = new Uint8Array(32).fill(7)

const usersOf = (cheap: number, expensive: number): readonly User[] =>
  [...Array(cheap).fill(CHEAP), ...Array(expensive).fill(DEAR)].map((cost, n) => ({
    name: `user-${n}`,
    hash: decoyHash(cost),
    attributes: {},
  }))

describe('decoy hashes', () => {
  it('a login with an unknown name always costs the same, and no password matches', async () => {
    const decoys = new DecoyHashes(usersOf(3, 3), KEY)
    for (const name of ['mallory', 'eve', 'trudy']) {
      const costs = [decoys.hashFor(name), decoys.hashFor(name)].map(costOf)
      expect(costs[0]).toEqual(costs[1])
      expect(await matchesHash(new Uint8Array([1]), decoys.hashFor(name))).toBe(false)
    }
  })

  it('decoy costs are distributed like those of users, in any order of the file', () => {
    for (const users of [usersOf(1, 3), [...usersOf(1, 3)].reverse()]) {
      const decoys = new DecoyHashes(users, KEY)
      const expensive = Array.from({ length: 2_000 }, (_, n) => costOf(decoys.hashFor(`stranger-${n}`))).filter(
        ({ cost }) => cost === DEAR?.cost,
      )
      expect(expensive.length / 2_000).toBeCloseTo(0.75, 1)
    }
  })

  it('adding a user changes the cost of few unknown names', () => {
    const [before, after] = [new DecoyHashes(usersOf(50, 50), KEY), new DecoyHashes(usersOf(50, 51), KEY)]
    const names = Array.from({ length: 1_000 }, (_, n) => `stranger-${n}`)
    const changed = names.filter(name => costOf(before.hashFor(name)).cost !== costOf(after.hashFor(name)).cost)
    expect(changed.length).toBeLessThan(30)
  })

  it('an unknown name costs as much as a new password if the file has no users', () => {
    expect(costOf(new DecoyHashes([], KEY).hashFor('mallory'))).toEqual({ cost: 16_384, blockSize: 8, parallel: 1 })
  })
})
