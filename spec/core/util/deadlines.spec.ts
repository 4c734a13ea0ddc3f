import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Deadline, DeadlineQueue } from '../../../src/core/util/deadlines.js'
import { effort } from '../../support/effort.js'

/** Removes everything that is due at `now`, in the order of the queue. */
function takeAll<T>(queue: DeadlineQueue<T>, now: number): T[] {
  const taken: T[] = []
  for (let item = queue.takeDue(now); item !== undefined; item = queue.takeDue(now)) taken.push(item)
  return taken
}

describe('DeadlineQueue', () => {
  it('is empty at first', () => {
    const queue = new DeadlineQueue<string>()
    expect(queue.size).toBe(0)
    expect(queue.peek()).toBeUndefined()
    expect(queue.takeDue(Number.POSITIVE_INFINITY)).toBeUndefined()
  })

  it('returns items by deadline, regardless of the order of insertion', () => {
    const anyTimes = fc.array(fc.integer({ min: -50, max: 50 }), { maxLength: 300, size: 'max' })
    fc.assert(
      fc.property(anyTimes, times => {
        const queue = new DeadlineQueue<number>()
        for (const at of times) queue.add(at, at)
        expect(takeAll(queue, 50)).toEqual([...times].sort((a, b) => a - b))
        expect(queue.size).toBe(0)
      }),
    )
  })

  it('returns an item exactly at its deadline and not before', () => {
    const queue = new DeadlineQueue<string>()
    queue.add(10, 'a')
    expect(queue.takeDue(9.999)).toBeUndefined()
    expect(queue.size).toBe(1)
    expect(queue.takeDue(10)).toBe('a')
    expect(queue.takeDue(10)).toBeUndefined()
  })

  it('returns each of several items with the same deadline', () => {
    const queue = new DeadlineQueue<string>()
    for (const item of ['a', 'b', 'c', 'd']) queue.add(5, item)
    expect(takeAll(queue, 5).sort()).toEqual(['a', 'b', 'c', 'd'])
  })

  it('returns the earliest deadline without removing its item', () => {
    const queue = new DeadlineQueue<string>()
    queue.add(20, 'later')
    const first = queue.add(10, 'first')
    expect(queue.peek()).toBe(first)
    expect(queue.peek()).toMatchObject({ at: 10, item: 'first' })
    expect(queue.size).toBe(2)
  })

  it('does not return a removed item', () => {
    const queue = new DeadlineQueue<string>()
    const first = queue.add(10, 'first')
    queue.add(20, 'later')
    queue.remove(first)
    expect(queue.size).toBe(1)
    expect(takeAll(queue, 100)).toEqual(['later'])
  })

  it('ignores the second removal of an item', () => {
    const queue = new DeadlineQueue<string>()
    const gone = queue.add(10, 'gone')
    queue.add(20, 'stays')
    queue.remove(gone)
    queue.remove(gone)
    expect(takeAll(queue, 100)).toEqual(['stays'])
  })

  it('ignores the removal of an item that was taken', () => {
    const queue = new DeadlineQueue<string>()
    const taken = queue.add(10, 'taken')
    queue.add(20, 'stays')
    queue.takeDue(10)
    queue.remove(taken)
    expect(takeAll(queue, 100)).toEqual(['stays'])
  })

  it('keeps its order when an item in the middle of the heap is removed', () => {
    // The last leaf (3) fills the gap of 11 and must rise above its new parent, 10.
    const queue = new DeadlineQueue<number>()
    const entries = [1, 10, 2, 11, 12, 4, 3].map(at => queue.add(at, at))
    for (const entry of entries) if (entry.at === 11) queue.remove(entry)
    expect(takeAll(queue, 100)).toEqual([1, 2, 3, 4, 10, 12])
  })

  it('behaves like a sorted list under any sequence of additions and removals', () => {
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ do: fc.constant('add' as const), at: fc.nat(30) }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), which: fc.nat() }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('take' as const), now: fc.nat(30) }) },
    )
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 200, size: 'max' }), steps => {
        const queue = new DeadlineQueue<number>()
        const model = new Map<number, Deadline<number>>()
        const all: Deadline<number>[] = []
        const earliest = (): number | undefined =>
          model.size === 0 ? undefined : Math.min(...[...model.values()].map(entry => entry.at))

        for (const step of steps) {
          if (step.do === 'add') {
            const entry = queue.add(step.at, all.length)
            expect(entry).toMatchObject({ at: step.at, item: all.length })
            model.set(all.length, entry)
            all.push(entry)
          } else if (step.do === 'remove') {
            // Picks from all entries ever created, which includes removing an entry twice or after it was taken.
            const entry = all[step.which % Math.max(all.length, 1)]
            if (entry !== undefined) {
              queue.remove(entry)
              model.delete(entry.item)
            }
          } else {
            const due = earliest()
            const taken = queue.takeDue(step.now)
            if (due === undefined || due > step.now) {
              expect(taken).toBeUndefined()
            } else {
              const entry = taken === undefined ? undefined : model.get(taken)
              expect(entry?.at).toBe(due)
              if (taken !== undefined) model.delete(taken)
            }
          }
          expect(queue.size).toBe(model.size)
          expect(queue.peek()?.at).toBe(earliest())
        }

        const left = [...model.values()].map(entry => entry.at).sort((a, b) => a - b)
        expect(takeAll(queue, 30).map(item => all[item]?.at)).toEqual(left)
      }),
      { numRuns: effort(200, 20) },
    )
  })
})
