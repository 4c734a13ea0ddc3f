import { describe, expect, it } from 'vitest'
import { StateStore } from '../../../src/client/connect/client.js'
import { ConnectionLostError, text } from '../../../src/client/index.js'
import type { ConnectionInfo } from '../../../src/client/session/session.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import { FakeSession } from '../../support/fake-session.js'
import { ManualClock } from '../../support/manual-clock.js'
import { record, words } from '../../support/open-client.js'

const NOTIFY = 'clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/636C69656E742D696431/command/notify/61'
const OK = utf8('+OK\r\n')
const blob = (value: string): Uint8Array => utf8(`$${value.length}\r\n${value}\r\n`)
const setTo = (value: string): Uint8Array =>
  utf8(`*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\n${value}\r\n`)

/** Opens a watch of key `a` on its second connection, where it has read `x` with version 5. */
function resumed(info: Partial<ConnectionInfo> = {}) {
  const session = new FakeSession()
  const settings = { clock: new ManualClock(), timeout: 10_000, maxQueued: 1_000, stopDelay: 0 }
  const client = new StateStore(session, settings)
  const seen = record(client.key('a', text).entries$)
  const read = (): void => {
    session.reply(session.at(-1), OK)
    session.reply(session.at(-1), blob('x'), { __stat: '200', __ts: '5:0:S' })
  }
  session.connect(info)
  const first = session.subscriptionId
  read()
  session.disconnect(new ConnectionLostError())
  session.connect({ sessionPresent: true, ...info })
  read()
  const notify = (value: string, version: number, ids: readonly number[]): void =>
    session.receive(NOTIFY, setTo(value), { __ts: `${version}:0:S` }, undefined, ids)
  return { session, seen, first, second: session.subscriptionId, notify }
}

describe('after a reconnect to a kept session', () => {
  it('the client subscribes with another subscription identifier', () => {
    const { first, second } = resumed()
    expect(first).toBeGreaterThan(0)
    expect(second).toBeGreaterThan(0)
    expect(first).not.toBe(second)
  })

  it('notifications with the new subscription identifier are accepted immediately', () => {
    const { session, seen, second, notify } = resumed()
    notify('y', 6, [7, second ?? 0])
    expect(words(seen)).toEqual(['set x (snapshot)', 'set y (notification)'])
    expect(session.published).toHaveLength(4)
  })

  it('notifications with another subscription identifier are dropped', () => {
    const { session, seen, first, notify } = resumed()
    notify('y', 6, [first ?? 0])
    expect(words(seen)).toEqual(['set x (snapshot)'])
    expect(session.published).toHaveLength(4)
  })

  it('a notification without a subscription identifier causes a read', () => {
    const { session, seen, notify } = resumed()
    notify('y', 6, [])
    expect(words(seen)).toEqual(['set x (snapshot)'])
    expect(session.published).toHaveLength(5)
    session.reply(session.at(-1), blob('y'), { __stat: '200', __ts: '6:0:S' })
    notify('z', 7, [])
    expect(words(seen)).toEqual(['set x (snapshot)', 'set y (notification)', 'set z (notification)'])
    expect(session.published).toHaveLength(5)
  })

  it('notifications cause a read when the broker lacks subscription identifiers', () => {
    const { session, second, notify } = resumed({ hasSubscriptionIds: false })
    expect(second).toBeUndefined()
    notify('y', 6, [])
    expect(session.published).toHaveLength(5)
  })
})

describe('on a connection without a kept session', () => {
  it('all notifications are accepted, regardless of their subscription identifier', () => {
    const { session, seen, notify } = resumed({ sessionPresent: false })
    notify('y', 6, [])
    notify('z', 7, [1])
    expect(words(seen).slice(1)).toEqual(['set y (notification)', 'set z (notification)'])
    expect(session.published).toHaveLength(4)
  })
})
