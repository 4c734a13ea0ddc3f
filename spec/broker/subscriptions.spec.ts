import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Subscriptions } from '../../src/broker/subscriptions.js'
import { matchesFilter } from '../../src/broker/topic-filter.js'

const topic = fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 3 }).map(levels => levels.join('/'))
const filter = fc.oneof(topic, fc.constantFrom('#', '+', 'a/#', '+/b', 'a/+', '__proto__', 'constructor'))

describe('The QoS that is granted', () => {
  it('is the best of all subscriptions that match at the time, and at most 1', () => {
    const change = fc.record({ filter, qos: fc.constantFrom(undefined, 0, 1, 2), topics: fc.array(topic) })
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), changes => {
        const subscriptions = new Subscriptions()
        const expected = new Map<string, number>()
        for (const { filter, qos, topics } of changes) {
          if (qos === undefined) Reflect.deleteProperty(subscriptions.byFilter, filter)
          else Reflect.set(subscriptions.byFilter, filter, { qos })
          if (qos === undefined) expected.delete(filter)
          else expected.set(filter, qos)
          expect(subscriptions.count).toBe(expected.size)
          for (const topic of topics) {
            const matching = Array.from(expected).filter(([filter]) => matchesFilter(filter, topic))
            const best = matching.length === 0 ? undefined : Math.min(1, Math.max(...matching.map(([, qos]) => qos)))
            expect(subscriptions.grantedQos(topic)).toBe(best)
          }
        }
      }),
    )
  })

  it('is looked up in what seems to be a plain object without a prototype', () => {
    const { byFilter } = new Subscriptions()
    Object.assign(byFilter, { a: { qos: 1 }, b: { qos: 0 } })
    expect([Object.keys(byFilter), Reflect.get(byFilter, 'constructor')]).toEqual([['a', 'b'], undefined])
  })
})
