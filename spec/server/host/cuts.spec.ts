import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { StoreServer } from '../../../src/server/index.js'
import { as } from '../../support/backwards.js'
import { openStore } from '../../support/open-store.js'
import { connect, PROPERTY, properties, publish } from '../../support/packets.js'
import { RawSocket } from '../../support/raw-socket.js'
import { openSecured } from '../../support/secured.js'

const cutOf = (store: StoreServer) => firstValueFrom(store.audit$)
const HERE = { time: expect.any(String), event: 'cut', address: '127.0.0.1', listener: 'mqtt', count: 1 }

describe('closed connections in the audit log', () => {
  it('the audit log contains a connection that was closed because of the connection limit', async () => {
    const { store } = await openStore({ maxConnections: 1 })
    const event = cutOf(store)
    await RawSocket.open(store.url)
    await (await RawSocket.open(store.url)).closed
    expect(await event).toEqual({ ...HERE, reason: 'limit of 1 connections' })
  })

  it('the audit log contains a connection that was closed because of a packet that is too large', async () => {
    const { store } = await openStore({ maxPacketSize: 1_000 })
    const event = cutOf(store)
    const attacker = await RawSocket.open(store.url)
    await attacker.send(connect('mallory'), publish('t', Buffer.alloc(2_000)))
    await attacker.closed
    expect(await event).toMatchObject({
      ...HERE,
      clientId: 'mallory',
      reason: expect.stringContaining('maxPacketSize'),
    })
  })

  it('a connection closed for too many properties is audited with its user name', async () => {
    const { store } = await openSecured()
    const attacker = await RawSocket.open(store.url)
    await attacker.send(connect('mallory', as('mallory')))
    await attacker.hears()
    const event = cutOf(store)
    const user = PROPERTY.user('a', 'b')
    await attacker.send(
      publish('t', Buffer.alloc(0), { properties: properties(...Array<typeof user>(1_001).fill(user)) }),
    )
    await attacker.closed
    expect(await event).toMatchObject({ ...HERE, clientId: 'mallory', username: 'mallory' })
  })
})
