import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Router, SharedGroup } from '../../../../src/server/broker/routing/router.js'
import { fewFilters, fewTopics } from '../../../support/any-filter.js'
import { matchesByTheRules } from '../../../support/reference-filter.js'
import { messageOf, Recipient } from '../support.js'

const setUp = (...filters: [filter: string, of?: Parameters<Recipient['subscription']>[1]][]) => {
  const router = new Router()
  const recipient = new Recipient()
  for (const [filter, of] of filters) router.add(recipient.subscription(filter, of))
  return { router, recipient }
}

describe('Router', () => {
  it('overlapping subscriptions yield one message with the highest QoS and all identifiers', () => {
    const { router, recipient } = setUp(['a/+', { qos: 0, id: 1 }], ['a/b', { qos: 2, id: 7 }], ['#', { qos: 1 }])
    expect(router.route(messageOf('a/b', { qos: 2 }), undefined)).toBe(1)
    expect(recipient.got).toMatchObject([{ topic: 'a/b', qos: 2 }])
    expect([...(recipient.got[0]?.subscriptionIds ?? [])].sort()).toEqual([1, 7])
  })

  it('a message is delivered with a QoS no higher than its own', () => {
    const { router, recipient } = setUp(['a', { qos: 2 }])
    for (const qos of [0, 1, 2] as const) router.route(messageOf('a', { qos }), undefined)
    expect(recipient.got.map(({ qos }) => qos)).toEqual([0, 1, 2])
  })

  it('only a no-local subscription excludes messages published by the same client', () => {
    const { router, recipient } = setUp(['a', { noLocal: true }], ['b', { noLocal: true }], ['b/#', { qos: 0 }])
    expect(router.route(messageOf('a'), recipient)).toBe(0)
    expect(router.route(messageOf('a'), new Recipient())).toBe(1)
    expect(router.route(messageOf('b'), recipient)).toBe(1)
    expect(recipient.got.map(({ topic, qos }) => [topic, qos])).toEqual([
      ['a', 1],
      ['b', 0],
    ])
  })

  it('the retain flag is delivered only to subscriptions that request it', () => {
    const { router, recipient } = setUp(['a'], ['b', { retainAsPublished: true }])
    for (const topic of ['a', 'b'])
      for (const retain of [true, false]) router.route(messageOf(topic, { retain }), undefined)
    expect(recipient.got.map(({ retain }) => retain)).toEqual([false, false, true, false])
  })

  it('a message reaches exactly the current subscribers after any sequence of changes', () => {
    const subscription = fc.tuple(fc.nat({ max: 3 }), fewFilters)
    fc.assert(
      fc.property(fc.array(subscription, { maxLength: 15 }), fc.nat({ max: 15 }), fewTopics, (all, removed, topic) => {
        const router = new Router()
        const recipients = [0, 1, 2, 3].map(() => new Recipient())
        const unique = [...new Map(all.map(one => [one.join(' '), one])).values()]
        const subscriptions = unique.flatMap(([i, filter]) => recipients[i]?.subscription(filter) ?? [])
        for (const one of subscriptions) router.add(one)
        for (const one of subscriptions.slice(0, removed)) router.remove(one)
        const left = subscriptions.slice(removed).filter(({ filter }) => matchesByTheRules(filter, topic))
        const expected = recipients.map(recipient => Number(left.some(({ subscriber }) => subscriber === recipient)))
        expect(router.route(messageOf(topic), undefined)).toBe(expected.filter(Boolean).length)
        expect(recipients.map(({ got }) => got.length)).toEqual(expected)
      }),
    )
  })

  it('a message reaches one member of each shared group in addition to other subscribers', () => {
    const router = new Router()
    const [ann, ben, cat] = [new Recipient(), new Recipient(), new Recipient()]
    router.add(ann.subscription('$share/g/a/+'))
    router.add(ben.subscription('$share/g/a/+'))
    router.add(ben.subscription('$share/h/a/+'))
    router.add(cat.subscription('a/b'))
    for (let i = 0; i < 4; i++) expect(router.route(messageOf('a/b'), undefined)).toBe(3)
    expect([ann, ben, cat].map(({ got }) => got.length)).toEqual([2, 6, 4])
  })

  it('a shared group is removed with its last member', () => {
    const router = new Router()
    const subscriptions = [new Recipient(), new Recipient()].map(one => one.subscription('$share/g/a'))
    for (const one of subscriptions) router.add(one)
    for (const one of subscriptions) router.remove(one)
    expect(router.route(messageOf('a'), undefined)).toBe(0)
  })

  it('routing continues when a delivery ends a session', () => {
    const router = new Router()
    const [ann, ben] = [new Recipient(), new Recipient()]
    const subscriptions = [ann.subscription('a'), ben.subscription('a'), ann.subscription('$share/g/a')]
    for (const one of subscriptions) router.add(one)
    ann.deliver = () => {
      for (const one of subscriptions) router.remove(one)
    }
    router.route(messageOf('a'), undefined)
    expect(ben.got).toHaveLength(1)
    expect(router.route(messageOf('a'), undefined)).toBe(0)
  })
})

const setUpGroup = (count: number) => {
  const group = new SharedGroup()
  const members = Array.from({ length: count }, () => new Recipient())
  const subscriptions = members.map(member => member.subscription('$share/g/a'))
  for (const subscription of subscriptions) group.add(subscription)
  const counts = (): number[] => members.map(({ got }) => got.length)
  return { group, members, subscriptions, counts }
}

describe('SharedGroup', () => {
  it('the members of a group receive messages in turn', () => {
    const { group, counts } = setUpGroup(3)
    for (let i = 0; i < 9; i++) expect(group.deliver(messageOf('a'))).toBe(true)
    expect(counts()).toEqual([3, 3, 3])
  })

  it('connected members of a group are preferred', () => {
    const { group, members, counts } = setUpGroup(3)
    members.slice(0, 2).forEach(member => {
      member.isConnected = false
    })
    for (let i = 0; i < 4; i++) group.deliver(messageOf('a'))
    expect(counts()).toEqual([0, 0, 4])
  })

  it('a message is queued for a persistent session when no member is connected', () => {
    const { group, members, counts } = setUpGroup(2)
    for (const member of members) member.isConnected = false
    Object.assign(members[0] ?? {}, { isPersistent: false })
    expect(group.deliver(messageOf('a'))).toBe(true)
    expect(counts()).toEqual([0, 1])
  })

  it('a member of a group without capacity is skipped', () => {
    const { group, members, counts } = setUpGroup(3)
    Object.assign(members[1] ?? {}, { hasRoom: false })
    for (let i = 0; i < 6; i++) group.deliver(messageOf('a'))
    expect(counts()).toEqual([3, 0, 3])
  })

  it('an offline session with capacity is preferred to a connected session without capacity', () => {
    const { group, members, counts } = setUpGroup(2)
    Object.assign(members[0] ?? {}, { isConnected: false })
    Object.assign(members[1] ?? {}, { hasRoom: false })
    group.deliver(messageOf('a'))
    expect(counts()).toEqual([1, 0])
  })

  it('one member overflows when no member has capacity', () => {
    const { group, members, counts } = setUpGroup(2)
    for (const member of members) member.hasRoom = false
    expect(group.deliver(messageOf('a'))).toBe(true)
    expect(counts()).toEqual([1, 0])
  })

  it('an unacknowledged message of a member is not passed to a member without capacity', () => {
    const { group, members, counts } = setUpGroup(2)
    group.deliver(messageOf('a'))
    for (const member of members) member.hasRoom = false
    const [delivery] = members[0]?.got ?? []
    if (delivery) delivery.reassign?.(delivery)
    expect(counts()).toEqual([1, 0])
  })

  it('a message to a group is not delivered when no member is connected or persistent', () => {
    const { group, members } = setUpGroup(1)
    for (const member of members) member.isConnected = member.isPersistent = false
    expect(group.deliver(messageOf('a'))).toBe(false)
  })

  it('the delivery order continues when a member leaves', () => {
    const { group, subscriptions, counts } = setUpGroup(3)
    group.deliver(messageOf('a'))
    const [first] = subscriptions
    if (first) group.remove(first)
    for (let i = 0; i < 4; i++) group.deliver(messageOf('a'))
    expect(group.size).toBe(2)
    expect(counts()).toEqual([1, 2, 2])
  })

  it('a message that one member did not acknowledge is passed to another member', () => {
    const { group, members, subscriptions, counts } = setUpGroup(2)
    group.deliver(messageOf('a', { qos: 2, expiresAt: 5 }))
    const [first] = subscriptions
    if (first) group.remove(first)
    const [delivery] = members[0]?.got ?? []
    if (delivery) delivery.reassign?.(delivery)
    expect(counts()).toEqual([1, 1])
    expect(members[1]?.got).toMatchObject([{ topic: 'a', qos: 2, expiresAt: 5 }])
  })
})
