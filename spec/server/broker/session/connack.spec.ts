import { describe, expect, it } from 'vitest'
import type { Connect } from '../../../../src/core/mqtt5/packets.js'
import { LIMIT } from '../../../../src/server/broker/limits/limits.js'
import { connackOf, keepAliveOf, levelOf } from '../../../../src/server/broker/session/connack.js'
import { openHandler } from '../../../support/open-broker.js'
import { bytesOf } from '../../../support/packets.js'
import { PLAIN_CONNECT } from '../../../support/plain-connect.js'

const CONNECT: Connect = { ...PLAIN_CONNECT, keepAlive: 30, receiveMaximum: 10 }
const HOST = { handler: openHandler, maximumPacketSize: 1_000, maximumKeepAlive: 0 }
const WELCOME = { clientId: 'ann', sessionPresent: false, authenticationData: undefined }

describe('keepAliveOf', () => {
  it.each([
    ['what it asks for where there is no longest one', 5, 30, 0, 30],
    ['what it asks for if that is not too long', 5, 30, 60, 30],
    ['the longest one', 5, 90, 60, 60],
    ['the longest one if it wants none', 5, 0, 60, 60],
    ['what it asks for with MQTT 3.1.1, which cannot be told', 4, 90, 60, 90],
  ] as const)('gives a client %s', (_, version, keepAlive, longest, expected) => {
    expect(keepAliveOf({ ...CONNECT, version, keepAlive }, longest)).toBe(expected)
  })
})

describe('connackOf', () => {
  it('says nothing that goes without saying', () => {
    const connack = connackOf(CONNECT, WELCOME, HOST)
    const { serverKeepAlive, sessionExpiry, assignedClientId, responseInformation } = connack
    expect([serverKeepAlive, sessionExpiry, assignedClientId, responseInformation]).toEqual(Array(4).fill(undefined))
    expect(connack).toMatchObject({ maximumPacketSize: 1_000, topicAliasMaximum: LIMIT.inboundAliases })
  })

  it('says what is other than what was asked for', () => {
    const connect = { ...CONNECT, clientId: '', keepAlive: 90, sessionExpiry: 0xffff_ffff }
    const connack = connackOf(connect, { ...WELCOME, clientId: 'made up' }, { ...HOST, maximumKeepAlive: 60 })
    const expected = { assignedClientId: 'made up', serverKeepAlive: 60, sessionExpiry: LIMIT.sessionExpiry }
    expect(connack).toMatchObject(expected)
  })

  it('has response information for whoever asks, if there is any', () => {
    const asking = { ...CONNECT, requestResponseInformation: true }
    const host = { ...HOST, handler: { ...openHandler, responseInformation: (id: string) => `clients/${id}` } }
    expect(connackOf(asking, WELCOME, host).responseInformation).toBe('clients/ann')
    expect(connackOf(CONNECT, WELCOME, host).responseInformation).toBeUndefined()
    expect(connackOf(asking, WELCOME, HOST).responseInformation).toBeUndefined()
  })
})

describe('levelOf', () => {
  const connect = { cmd: 'connect', clientId: 'ann', protocolId: 'MQTT', clean: true, keepalive: 0 } as const

  it('is the version to answer in', () => {
    expect(levelOf(bytesOf({ ...connect, protocolVersion: 5 }))).toBe(5)
    expect(levelOf(bytesOf({ ...connect, protocolVersion: 4 }, 4))).toBe(4)
    expect(levelOf(bytesOf({ ...connect, protocolId: 'MQIsdp', protocolVersion: 3 }, 4))).toBe(4)
  })

  it('is the old one for what makes no sense', () => {
    for (const bytes of [
      [0x10, 0],
      [0x10, 2, 0xff, 0xff],
      [0x10, 3, 0, 1, 65],
    ])
      expect(levelOf(new Uint8Array(bytes))).toBe(4)
  })
})
