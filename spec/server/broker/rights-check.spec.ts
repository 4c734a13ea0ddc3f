import { describe, expect, it } from 'vitest'
import type { Client } from '../../../src/core/mqtt5/peer.js'
import type { BrokerHandler, SessionOwner } from '../../../src/server/broker/session/handler.js'
import { openCore } from './scripted-client.js'

const METHOD = 'K8S-SAT'
const ADMINISTRATIVE = 0x98
const WATCHES = 10

type Work = (deadlineMs: number) => boolean

/** Opens a broker whose clients watch ten topics. Work runs one step at a time. */
function open(rights: { permits: (topic: string) => boolean; version: number }) {
  const works: Work[] = []
  const clients: Client[] = []
  let checks = 0
  const owner = (): SessionOwner & { readonly version: number } => ({
    id: 'is u',
    version: rights.version,
    canConnect: true,
    maySubscribe: topic => rights.permits(topic),
    canReceive: topic => {
      checks++
      return rights.permits(topic)
    },
    hasSameRights: earlier => 'version' in earlier && earlier.version === rights.version,
  })
  const handler: Partial<BrokerHandler> = {
    authenticate: () => ({ type: 'accepted', owner: owner() }),
    onConnected: client => void clients.push(client),
    *findForbiddenWatch() {
      for (let n = 0; n < WATCHES; n++) yield !rights.permits(`watch/${n}`)
    },
  }
  const { core, connect } = openCore(handler, { runSliced: work => void works.push(work) })
  const properties = { authenticationMethod: METHOD, sessionExpiryInterval: 60 }
  const client = connect('c', { clean: false, properties })
  return {
    core,
    client,
    works,
    connect: () => connect('c', { clean: false, properties }),
    renew: () => client.say({ cmd: 'auth', reasonCode: 0x19, properties: { authenticationMethod: METHOD } }),
    notify: (topic: string) => clients[0]?.deliver(topic, { payload: new Uint8Array(1), userProperties: {} }),
    /** Runs one step of each work. Returns whether work remains. */
    step: (): boolean => works.map(work => work(0)).some(hasMore => hasMore),
    checks: () => checks,
  }
}

describe('the rights of a client whose credentials change', () => {
  it('the check of watches pauses after each step, and ends the connection at a forbidden watch', () => {
    const rights = { permits: (_: string) => true, version: 1 }
    const { client, renew, works, step } = open(rights)
    rights.version = 2
    rights.permits = topic => topic !== 'watch/7'
    expect(renew()).toMatchObject([{ cmd: 'auth' }])
    expect(works).toHaveLength(1)
    let steps = 1
    while (step()) steps++
    expect(steps).toBe(8)
    expect(client.last).toMatchObject({ cmd: 'disconnect', reasonCode: ADMINISTRATIVE })
  })

  it('a notification that is no longer permitted is not delivered before the check has ended', () => {
    const rights = { permits: (_: string) => true, version: 1 }
    const { client, renew, notify, step, checks } = open(rights)
    rights.version = 2
    rights.permits = topic => topic !== 'secret'
    renew()
    notify('secret')
    notify('public')
    expect(client.messages.map(({ topic }) => topic)).toEqual(['public'])
    while (step());
    const before = checks()
    notify('public')
    expect(checks()).toBe(before)
    expect(client.ended).toBe(false)
  })

  it('a later change during the check restarts the check', () => {
    const rights = { permits: (_: string) => true, version: 1 }
    const { client, renew, works, step } = open(rights)
    rights.version = 2
    renew()
    step()
    rights.version = 3
    rights.permits = topic => topic !== 'watch/0'
    renew()
    expect(works).toHaveLength(2)
    while (step());
    expect(client.ended).toBe(true)
  })

  it('nothing is checked again if a renewal or a resumed session has the same rights', () => {
    const rights = { permits: (_: string) => true, version: 1 }
    const { client, connect, renew, works, checks } = open(rights)
    client.subscribe('queued', 1)
    renew()
    client.lose()
    expect(works).toHaveLength(0)
    const other = connect()
    other.publish('queued', 'x')
    other.lose()
    expect(connect().messages).toHaveLength(1)
    expect(checks()).toBe(0)
  })

  it('a session resumed with other rights loses messages that are no longer permitted', () => {
    const rights = { permits: (_: string) => true, version: 1 }
    const { client, connect, works } = open(rights)
    client.subscribe('queued', 1)
    client.publish('queued', 'x')
    client.lose()
    rights.version = 2
    rights.permits = () => false
    expect(connect().messages).toHaveLength(0)
    expect(works).toHaveLength(0)
  })
})
