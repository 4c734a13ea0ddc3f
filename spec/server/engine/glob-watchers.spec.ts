import { describe, expect, it } from 'vitest'
import { Watchers } from '../../../src/server/engine/watchers.js'

const QUOTAS = { max: 10_000, maxPerOwner: 5_000, ownerOf: (name: string) => name[0] }

describe('Glob watchers', () => {
  it('a glob counts as a hundred watched keys until its connection is removed', () => {
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

  it('the bytes charged for a glob equal the bytes announced for it', () => {
    const watchers = new Watchers<string>()
    const cost = watchers.globs.addedBytes('alice', 'k*')
    watchers.addGlob('alice', 'k*')
    expect(watchers.bytes).toBe(cost)
    expect(watchers.globs.addedBytes('alice', 'k*')).toBe(0)
    const more = watchers.globs.addedBytes('bob', 'k*')
    watchers.addGlob('bob', 'k*')
    expect(watchers.bytes).toBe(cost + more)
    // The matcher's state takes 1 KiB per 32 characters.
    expect(watchers.globs.addedBytes('bob', '?'.repeat(1_000))).toBeGreaterThan(32 * 1_024)
  })

  it('one owner can use at most a quarter of the globs that share a prefix', () => {
    const watchers = new Watchers<string>(QUOTAS)
    for (let i = 0; i < 32; i++) watchers.addGlob(`a${i}`, `*${i}`)
    expect(() => watchers.addGlob('a0', '*more')).toThrow('quota-exceeded')
    watchers.addGlob('b', '*more')
    // A glob that is already watched costs nothing, and other prefixes are counted separately.
    watchers.addGlob('a0', '*more')
    watchers.addGlob('a0', 'more*')
    watchers.removeGlob('a1', '*1')
    watchers.addGlob('a0', '*again')
  })

  it('when the owner of a glob leaves, the glob is charged to the owner of another watcher', () => {
    for (const drops of [true, false]) {
      const watchers = new Watchers<string>(QUOTAS)
      const globs = Array.from({ length: 32 }, (_, i) => `*${i}`)
      for (const glob of globs) for (const name of ['a', 'b']) watchers.addGlob(name, glob)
      watchers.addGlob('b', '*own')
      if (drops) watchers.removeConnection('a')
      else for (const glob of globs) watchers.removeGlob('a', glob)
      // All globs are charged to b, although b could not have added as many.
      expect(() => watchers.addGlob('b', '*more')).toThrow('quota-exceeded')
      for (const glob of globs) watchers.addGlob('a', `${glob}a`)
      expect(() => watchers.addGlob('a', '*more')).toThrow('quota-exceeded')
      watchers.removeConnection('b')
      watchers.addGlob('b', '*again')
      for (const glob of globs) watchers.removeGlob('a', `${glob}a`)
      for (const glob of globs) watchers.addGlob('a', glob)
    }
  })

  it('a glob is charged to no owner when only connections without an owner still watch it', () => {
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

  it('at most 128 globs of all owners share a prefix, not counting duplicates and other prefixes', () => {
    const watchers = new Watchers<string>()
    for (let i = 0; i < 128; i++) watchers.addGlob(i % 2 === 0 ? 'alice' : 'bob', `*${i}`)
    expect(() => watchers.addGlob('alice', '*x')).toThrow('quota-exceeded')
    watchers.addGlob('alice', '*1')
    watchers.addGlob('alice', 'x*')
    watchers.removeGlob('bob', '*1')
    watchers.removeGlob('alice', '*1')
    watchers.addGlob('alice', '*x')
  })

  it('a single long glob is accepted even if it exceeds the owner’s limit', () => {
    const watchers = new Watchers<string>(QUOTAS)
    watchers.addGlob('a', '?'.repeat(1_024))
    expect(() => watchers.addGlob('a', '*')).toThrow('quota-exceeded')
    expect(() => watchers.addGlob('b', '?'.repeat(1_025))).toThrow('syntax-error')
  })

  it('nested prefixes of an owner have a common limit, regardless of the order of registration', () => {
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
      const globs = lengths.flatMap(length =>
        Array.from('abcdefgh', character => `${key.slice(0, length)}*${character}?*`),
      )
      const accepted = globs.filter(glob => watch('a', glob))
      const steps = 64 * (key.length + 1)
      expect(watchers.globs.workOf(key)).toBeGreaterThan(steps / 2)
      expect(watchers.globs.workOf(key)).toBeLessThanOrEqual(steps)
      expect(watch('b', 'sensor/*')).toBe(true)
      for (const glob of accepted) watchers.removeGlob('a', glob)
      expect(globs.filter(glob => watch('a', glob))).toEqual(accepted)
    }
  })

  it('an owner can watch a thousand globs with distinct prefixes, and some with shorter ones', () => {
    const watchers = new Watchers<string>({ ...QUOTAS, max: 200_000, maxPerOwner: 200_000 })
    for (let i = 0; i < 1_000; i++) watchers.addGlob('a', `panel/${i}/*`)
    for (let i = 0; i < 31; i++) watchers.addGlob('a', `*/kind${i}`)
    for (let i = 0; i < 30; i++) watchers.addGlob('a', `panel/*/kind${i}`)
    expect(watchers.globs.size).toBe(1_061)
  })
})
