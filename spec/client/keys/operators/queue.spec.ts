import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Queue, type QueueHandle } from '../../../../src/client/keys/operators/pipeline.js'

function itemsOf<T>(queue: Queue<T>): T[] {
  const items: T[] = []
  for (let place = queue.first; place !== undefined; place = place.next) items.push(place.item)
  return items
}

describe('Queue', () => {
  it('holds the same items as an array after any additions and removals', () => {
    const operation = fc.oneof(fc.constant('add' as const), fc.nat())
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 200 }), operations => {
        const queue = new Queue<number>()
        const places: QueueHandle<number>[] = []
        for (const [number, next] of operations.entries()) {
          if (next === 'add') places.push(queue.add(number))
          else for (const place of places.splice(next % (places.length + 1), 1)) queue.remove(place)
          expect(itemsOf(queue)).toEqual(places.map(({ item }) => item))
        }
      }),
    )
  })

  it('a removed handle does not retain its neighbours', () => {
    const queue = new Queue<string>()
    const [first] = [queue.add('a'), queue.add('b')]
    queue.remove(first)
    expect([first, queue.first?.item]).toEqual([{ item: 'a', before: undefined, after: undefined }, 'b'])
  })
})
