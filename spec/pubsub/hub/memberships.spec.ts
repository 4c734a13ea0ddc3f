import { describe, expect, it } from 'vitest'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'

async function openRecordingHub() {
  const opened = await openHub({
    retention: 0,
    authenticate: ({ query }) => ({
      userId: query.get('user') ?? undefined,
      roles: query.getAll('role'),
      groups: query.getAll('group'),
    }),
  })
  const { hub } = opened
  const notes: string[] = []
  hub.connections$.subscribe(({ type, connection }) => notes.push(`${connection.userId} ${type}`))
  hub.memberships$.subscribe(({ type, connection, group }) => notes.push(`${connection.userId} ${type} ${group}`))
  const connect = (query: string) => RawPubSubClient.connect(`${hub.url}?user=ann&${query}`)
  return { ...opened, notes, connect }
}

const ALL = 'role=webpubsub.joinLeaveGroup&role=webpubsub.sendToGroup'

describe('memberships of a hub', () => {
  it('every membership is reported once, for every cause', async () => {
    const { hub, notes, connect } = await openRecordingHub()
    const ann = await connect(`${ALL}&group=a`)
    await ann.join('b')
    await ann.join('b')
    hub.addToGroup('c', ann.connectionId)
    hub.addToGroup('c', ann.connectionId)
    await ann.request({ type: 'leaveGroup', group: 'a' })
    await ann.request({ type: 'leaveGroup', group: 'a' })
    hub.removeFromGroup('b', ann.connectionId)
    hub.removeFromGroup('b', ann.connectionId)
    hub.closeConnection(ann.connectionId)
    expect(notes).toEqual([
      ...['ann connected', 'ann joined a', 'ann joined b', 'ann joined c'],
      ...['ann left a', 'ann left b', 'ann left c', 'ann disconnected'],
    ])
  })

  it('a membership that ended before its report is not reported', async () => {
    const { hub, notes, connect } = await openRecordingHub()
    hub.connections$.subscribe(({ type, connection }) => {
      if (type === 'connected') hub.removeFromGroup('a', connection.connectionId)
    })
    const ann = await connect('group=a&group=b')
    await ann.settled()
    expect(notes).toEqual(['ann connected', 'ann left a', 'ann joined b'])
  })

  it('a message that the application sends on a join precedes the ack of that join', async () => {
    const { hub, connect } = await openRecordingHub()
    hub.memberships$.subscribe(({ group, connection }) => hub.sendToMember(group, connection.connectionId, 'welcome'))
    const [ann, other] = [await connect(ALL), await connect(ALL)]
    await other.join('a')
    await ann.join('a')
    hub.sendToGroup('a', 'news')
    await ann.received(2)
    expect(ann.frames.map(({ type }) => type)).toEqual(['system', 'message', 'ack', 'message'])
    expect(ann.messages).toMatchObject([
      { from: 'group', group: 'a', data: 'welcome', sequenceId: 1 },
      { from: 'group', group: 'a', data: 'news', sequenceId: 2 },
    ])
    await other.settled()
    expect(other.messages).toHaveLength(2)
    expect(hub.sendToMember('b', ann.connectionId, 1)).toBe(false)
    expect(hub.sendToMember('a', 'nobody', 1)).toBe(false)
    expect(() => hub.sendToMember('a', ann.connectionId, 1n)).toThrow(expect.objectContaining({ code: 'argument' }))
  })

  it('a guard decides which groups a client may join and send to', async () => {
    const { hub, connect } = await openRecordingHub()
    const asked: string[] = []
    const end = hub.guard(({ userId }, action, group) => {
      asked.push(`${userId} ${action} ${group}`)
      if (group === 'broken') throw new Error('out of order')
      return group === 'open' || group === 'late' ? true : group === 'shut' ? false : undefined
    })
    hub.guard((_connection, _action, group) => (group === 'late' ? false : undefined))
    const ann = await connect('role=webpubsub.joinLeaveGroup.shut&role=webpubsub.joinLeaveGroup.mine')
    const tryTo = async (type: string, group: string) =>
      (await ann.request({ type, group, ...(type === 'sendToGroup' && { data: 1 }) }))['success']
    expect(await tryTo('joinGroup', 'open')).toBe(true)
    expect(await tryTo('sendToGroup', 'open')).toBe(true)
    expect(await tryTo('leaveGroup', 'open')).toBe(true)
    expect(await tryTo('joinGroup', 'shut')).toBe(false)
    expect(await tryTo('joinGroup', 'late')).toBe(false)
    expect(await tryTo('joinGroup', 'mine')).toBe(true)
    expect(await tryTo('sendToGroup', 'mine')).toBe(false)
    expect(await tryTo('joinGroup', 'broken')).toBe(false)
    expect(asked.slice(0, 3)).toEqual(['ann join open', 'ann send open', 'ann leave open'])
    hub.addToGroup('shut', ann.connectionId)
    expect(hub.connections[0]?.groups).toEqual(['mine', 'shut'])
    end()
    expect(await tryTo('joinGroup', 'open')).toBe(false)
    expect(await tryTo('leaveGroup', 'shut')).toBe(true)
  })

  it('a guard that is not a function is rejected', async () => {
    const { hub } = await openRecordingHub()
    const guard: object = { guard: 'all' }
    expect(() => Reflect.apply(hub.guard, hub, [guard])).toThrow(expect.objectContaining({ code: 'argument' }))
  })
})
