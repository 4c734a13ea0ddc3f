import { describe, expect, it } from 'vitest'
import { SharedGroup } from '../../../../src/server/broker/routing/router.js'
import { messageOf, Recipient } from '../support.js'

const setUp = (count: number) => {
  const group = new SharedGroup()
  const members = Array.from({ length: count }, () => new Recipient())
  const subscriptions = members.map(member => member.subscription('$share/g/a'))
  for (const subscription of subscriptions) group.add(subscription)
  const counts = (): number[] => members.map(({ got }) => got.length)
  return { group, members, subscriptions, counts }
}

describe('SharedGroup', () => {
  it('gives messages to its members in turn', () => {
    const { group, counts } = setUp(3)
    for (let i = 0; i < 9; i++) expect(group.deliver(messageOf('a'))).toBe(true)
    expect(counts()).toEqual([3, 3, 3])
  })

  it('prefers those who are connected', () => {
    const { group, members, counts } = setUp(3)
    members.slice(0, 2).forEach(member => {
      member.connected = false
    })
    for (let i = 0; i < 4; i++) group.deliver(messageOf('a'))
    expect(counts()).toEqual([0, 0, 4])
  })

  it('keeps a message for somebody who will be back when nobody is there', () => {
    const { group, members, counts } = setUp(2)
    for (const member of members) member.connected = false
    Object.assign(members[0] ?? {}, { lasting: false })
    expect(group.deliver(messageOf('a'))).toBe(true)
    expect(counts()).toEqual([0, 1])
  })

  it('passes over a member that has no room', () => {
    const { group, members, counts } = setUp(3)
    Object.assign(members[1] ?? {}, { hasRoom: false })
    for (let i = 0; i < 6; i++) group.deliver(messageOf('a'))
    expect(counts()).toEqual([3, 0, 3])
  })

  it('prefers room in a session without a connection to a member that is connected and full', () => {
    const { group, members, counts } = setUp(2)
    Object.assign(members[0] ?? {}, { connected: false })
    Object.assign(members[1] ?? {}, { hasRoom: false })
    group.deliver(messageOf('a'))
    expect(counts()).toEqual([1, 0])
  })

  it('lets one of them overflow when nobody has room', () => {
    const { group, members, counts } = setUp(2)
    for (const member of members) member.hasRoom = false
    expect(group.deliver(messageOf('a'))).toBe(true)
    expect(counts()).toEqual([1, 0])
  })

  it('does not give on to those who have no room what one of them left', () => {
    const { group, members, counts } = setUp(2)
    group.deliver(messageOf('a'))
    for (const member of members) member.hasRoom = false
    const [delivery] = members[0]?.got ?? []
    if (delivery) delivery.giveOn?.(delivery)
    expect(counts()).toEqual([1, 0])
  })

  it('has nobody to take a message when none will be back', () => {
    const { group, members } = setUp(1)
    for (const member of members) member.connected = member.lasting = false
    expect(group.deliver(messageOf('a'))).toBe(false)
  })

  it('goes on in turn when a member leaves', () => {
    const { group, subscriptions, counts } = setUp(3)
    group.deliver(messageOf('a'))
    const [first] = subscriptions
    if (first) group.remove(first)
    for (let i = 0; i < 4; i++) group.deliver(messageOf('a'))
    expect(group.size).toBe(2)
    expect(counts()).toEqual([1, 2, 2])
  })

  it('gives to another what a member could not take', () => {
    const { group, members, subscriptions, counts } = setUp(2)
    group.deliver(messageOf('a', { qos: 2, expiresAt: 5 }))
    const [first] = subscriptions
    if (first) group.remove(first)
    const [delivery] = members[0]?.got ?? []
    if (delivery) delivery.giveOn?.(delivery)
    expect(counts()).toEqual([1, 1])
    expect(members[1]?.got).toMatchObject([{ topic: 'a', qos: 2, expiresAt: 5 }])
  })
})
