import { describe, expect, it } from 'vitest'
import { Watchers } from '../../../src/server/engine/watchers.js'

const QUOTAS = { max: 10_000, maxPerOwner: 5_000, ownerOf: (name: string) => name[0] }

describe('Watchers of globs', () => {
  it('count for a hundred keys each, and are gone with their connection', () => {
    const watchers = new Watchers<string>(QUOTAS)
    watchers.add('alice', 'k')
    watchers.addGlob('alice', 'k*')
    watchers.addGlob('alice', 'l*')
    watchers.addGlob('bob', 'k*')
    expect([watchers.count, watchers.countOf('alice'), watchers.countOfOwner('b')]).toEqual([301, 201, 100])
    watchers.removeConnection('alice')
    watchers.removeConnection('alice')
    expect([watchers.count, watchers.countOfOwner('a'), watchers.globs.size]).toEqual([100, 0, 1])
    watchers.removeGlob('bob', 'k*')
    expect([watchers.count, watchers.bytes, watchers.globs.size]).toEqual([0, 0, 0])
  })

  it('say beforehand what they take, and take no more', () => {
    const watchers = new Watchers<string>()
    const cost = watchers.globs.addedBytes('alice', 'k*')
    watchers.addGlob('alice', 'k*')
    expect(watchers.bytes).toBe(cost)
    expect(watchers.globs.addedBytes('alice', 'k*')).toBe(0)
    const more = watchers.globs.addedBytes('bob', 'k*')
    watchers.addGlob('bob', 'k*')
    expect(watchers.bytes).toBe(cost + more)
    // 1 KiB for each 32 signs: what the matcher keeps of them.
    expect(watchers.globs.addedBytes('bob', '?'.repeat(1_000))).toBeGreaterThan(32 * 1_024)
  })

  it('leave room for others: one owner has a quarter of the globs that begin alike', () => {
    const watchers = new Watchers<string>(QUOTAS)
    for (let i = 0; i < 32; i++) watchers.addGlob(`a${i}`, `*${i}`)
    expect(() => watchers.addGlob('a0', '*more')).toThrow('quota-exceeded')
    watchers.addGlob('b', '*more')
    // What is watched already costs nobody anything, and what begins otherwise is another matter.
    watchers.addGlob('a0', '*more')
    watchers.addGlob('a0', 'more*')
    watchers.removeGlob('a1', '*1')
    watchers.addGlob('a0', '*again')
  })

  it('count to whoever goes on with them when their owner leaves', () => {
    for (const drops of [true, false]) {
      const watchers = new Watchers<string>(QUOTAS)
      const globs = Array.from({ length: 32 }, (_, i) => `*${i}`)
      for (const glob of globs) for (const name of ['a', 'b']) watchers.addGlob(name, glob)
      watchers.addGlob('b', '*own')
      if (drops) watchers.removeConnection('a')
      else for (const glob of globs) watchers.removeGlob('a', glob)
      // All are hers, though they are more than she might begin with.
      expect(() => watchers.addGlob('b', '*more')).toThrow('quota-exceeded')
      for (const glob of globs) watchers.addGlob('a', `${glob}a`)
      expect(() => watchers.addGlob('a', '*more')).toThrow('quota-exceeded')
      watchers.removeConnection('b')
      watchers.addGlob('b', '*again')
      for (const glob of globs) watchers.removeGlob('a', `${glob}a`)
      for (const glob of globs) watchers.addGlob('a', glob)
    }
  })

  it('count to nobody when nobody they count to goes on with them', () => {
    const watchers = new Watchers<string>({
      ...QUOTAS,
      ownerOf: (name: string) => (name === 'x' ? undefined : name[0]),
    })
    const globs = Array.from({ length: 32 }, (_, i) => `*${i}`)
    for (const glob of globs) for (const name of ['a', 'x']) watchers.addGlob(name, glob)
    watchers.removeConnection('a')
    for (const glob of globs) watchers.addGlob('a', `${glob}a`)
    watchers.removeConnection('x')
    watchers.removeConnection('a')
    expect([watchers.globs.size, watchers.bytes]).toEqual([0, 0])
  })

  it('begin alike 128 times at most, whoever has them; others begin otherwise, or are the same', () => {
    const watchers = new Watchers<string>()
    for (let i = 0; i < 128; i++) watchers.addGlob(i % 2 === 0 ? 'alice' : 'bob', `*${i}`)
    expect(() => watchers.addGlob('alice', '*x')).toThrow('quota-exceeded')
    watchers.addGlob('alice', '*1')
    watchers.addGlob('alice', 'x*')
    watchers.removeGlob('bob', '*1')
    watchers.removeGlob('alice', '*1')
    watchers.addGlob('alice', '*x')
  })

  it('may be one long glob', () => {
    const watchers = new Watchers<string>(QUOTAS)
    watchers.addGlob('a', '?'.repeat(1_024))
    expect(() => watchers.addGlob('a', '*')).toThrow('quota-exceeded')
    expect(() => watchers.addGlob('b', '?'.repeat(1_025))).toThrow('syntax-error')
  })

  it('cost a change of a key no more when an owner begins them with ever more of it, in whatever order they come', () => {
    const key = 'sensor/building-17/floor-3/room-12/temperature/current/celsius/v'
    for (const lengths of [Array.from(key, (_, i) => i), Array.from(key, (_, i) => key.length - i)]) {
      const watchers = new Watchers<string>(QUOTAS)
      const watch = (owner: string, glob: string): boolean => {
        try {
          watchers.addGlob(owner, glob)
          return true
        } catch {
          return false
        }
      }
      const globs = lengths.flatMap(length => Array.from('abcdefgh', sign => `${key.slice(0, length)}*${sign}?*`))
      const taken = globs.filter(glob => watch('a', glob))
      const steps = 64 * (key.length + 1)
      expect(watchers.globs.workOf(key)).toBeGreaterThan(steps / 2)
      expect(watchers.globs.workOf(key)).toBeLessThanOrEqual(steps)
      expect(watch('b', 'sensor/*')).toBe(true)
      for (const glob of taken) watchers.removeGlob('a', glob)
      expect(globs.filter(glob => watch('a', glob))).toEqual(taken)
    }
  })

  it('of one owner may be a thousand that begin otherwise, beside some that begin with less', () => {
    const watchers = new Watchers<string>({ ...QUOTAS, max: 200_000, maxPerOwner: 200_000 })
    for (let i = 0; i < 1_000; i++) watchers.addGlob('a', `panel/${i}/*`)
    for (let i = 0; i < 31; i++) watchers.addGlob('a', `*/kind${i}`)
    for (let i = 0; i < 30; i++) watchers.addGlob('a', `panel/*/kind${i}`)
    expect(watchers.globs.size).toBe(1_061)
  })
})
