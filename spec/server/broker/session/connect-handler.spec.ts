import { describe, expect, it } from 'vitest'
import type { Auth, Connect } from '../../../../src/core/mqtt5/packets.js'
import type { Client } from '../../../../src/core/mqtt5/peer.js'
import * as REASON from '../../../../src/core/mqtt5/reason-codes.js'
import { utf8 } from '../../../../src/core/util/bytes.js'
import { LIMIT } from '../../../../src/server/broker/limits/limits.js'
import {
  AuthenticationExchange,
  connackOf,
  keepAliveSecondsOf,
  protocolVersionOf,
} from '../../../../src/server/broker/session/connect-handler.js'
import type { ConnectCredentials, Verdict } from '../../../../src/server/broker/session/handler.js'
import { openHandler } from '../../../support/open-broker.js'
import { bytesOf } from '../../../support/packets.js'
import { PLAIN_CONNECT } from '../../../support/plain-connect.js'

const CONNECT: Connect = { ...PLAIN_CONNECT, keepAlive: 30, receiveMaximum: 10 }
const HOST = { handler: openHandler, maximumPacketSize: 1_000, maxKeepAliveSeconds: 0 }
const WELCOME = { clientId: 'ann', sessionPresent: false, authenticationData: undefined }

describe('keepAliveSecondsOf', () => {
  it.each([
    ['the requested one if the broker has no maximum', 5, 30, 0, 30],
    ['the requested one if it does not exceed the maximum', 5, 30, 60, 30],
    ['the maximum if the client requests a longer one', 5, 90, 60, 60],
    ['the maximum if the client requests none', 5, 0, 60, 60],
    ['the requested one with MQTT 3.1.1, in which the broker cannot announce a maximum', 4, 90, 60, 90],
  ] as const)('the keep-alive of a client is %s', (_, version, keepAlive, longest, expected) => {
    expect(keepAliveSecondsOf({ ...CONNECT, version, keepAlive }, longest)).toBe(expected)
  })
})

describe('connackOf', () => {
  it('CONNACK omits default values', () => {
    const connack = connackOf(CONNECT, WELCOME, HOST)
    const { serverKeepAlive, sessionExpiry, assignedClientId, responseInformation } = connack
    expect([serverKeepAlive, sessionExpiry, assignedClientId, responseInformation]).toEqual(Array(4).fill(undefined))
    expect(connack).toMatchObject({ maximumPacketSize: 1_000, topicAliasMaximum: LIMIT.inboundAliases })
  })

  it('CONNACK contains the values that differ from the request', () => {
    const connect = { ...CONNECT, clientId: '', keepAlive: 90, sessionExpiry: 0xffff_ffff }
    const connack = connackOf(connect, { ...WELCOME, clientId: 'made up' }, { ...HOST, maxKeepAliveSeconds: 60 })
    const expected = { assignedClientId: 'made up', serverKeepAlive: 60, sessionExpiry: LIMIT.sessionExpirySeconds }
    expect(connack).toMatchObject(expected)
  })

  it('CONNACK has response information if the client asks and the handler provides some', () => {
    const asking = { ...CONNECT, requestResponseInformation: true }
    const host = { ...HOST, handler: { ...openHandler, responseInformation: (id: string) => `clients/${id}` } }
    expect(connackOf(asking, WELCOME, host).responseInformation).toBe('clients/ann')
    expect(connackOf(CONNECT, WELCOME, host).responseInformation).toBeUndefined()
    expect(connackOf(asking, WELCOME, HOST).responseInformation).toBeUndefined()
  })
})

describe('protocolVersionOf', () => {
  const connect = { cmd: 'connect', clientId: 'ann', protocolId: 'MQTT', clean: true, keepalive: 0 } as const

  it('responses have the MQTT version of CONNECT', () => {
    expect(protocolVersionOf(bytesOf({ ...connect, protocolVersion: 5 }))).toBe(5)
    expect(protocolVersionOf(bytesOf({ ...connect, protocolVersion: 4 }, 4))).toBe(4)
    expect(protocolVersionOf(bytesOf({ ...connect, protocolId: 'MQIsdp', protocolVersion: 3 }, 4))).toBe(4)
  })

  it('responses to a malformed CONNECT have MQTT version 3.1.1', () => {
    for (const bytes of [
      [0x10, 0],
      [0x10, 2, 0xff, 0xff],
      [0x10, 3, 0, 1, 65],
    ])
      expect(protocolVersionOf(new Uint8Array(bytes))).toBe(4)
  })
})

const WITH_METHOD: Connect = { ...PLAIN_CONNECT, authenticationMethod: 'riddles', authenticationData: utf8('hello') }
const CLIENT: Client = { clientId: 'ann', open: false, subscribes: () => false, deliver: () => undefined }
const MORE: Verdict = { type: 'continue', data: utf8('riddle'), state: 1 }
const protocolError = expect.objectContaining({ reasonCode: REASON.protocolError })

const auth = (reasonCode: Auth['reasonCode'], authenticationMethod = 'riddles'): Auth => ({
  type: 'auth',
  reasonCode,
  authenticationMethod,
  authenticationData: utf8('answer'),
})

type Authenticate = (client: Client, credentials: ConnectCredentials) => Verdict | Promise<Verdict>

const setUp = (authenticate?: Authenticate, connect: Partial<Connect> = {}) => {
  const verdicts: Verdict[] = []
  const failures: unknown[] = []
  const handler = authenticate ? { ...openHandler, authenticate } : openHandler
  const link = { remoteAddress: undefined, transport: 'tcp', unsentBytes: 0, heldBytes: 0, transientBytes: 0 } as const
  const writeBuffer = { block: new Uint8Array(0), allocate: () => 0 }
  const nothing = { writeBuffer, write: () => undefined, isLarge: () => false }
  const ends = { delayFlush: () => undefined, wake: () => undefined, end: () => undefined, destroy: () => undefined }
  const whole = { ...WITH_METHOD, ...connect }
  const authentication = new AuthenticationExchange(handler, CLIENT, { ...link, ...nothing, ...ends }, whole)
  const decided = (verdict: Verdict): void => void verdicts.push(verdict)
  const failed = (error: unknown): void => void failures.push(error)
  return {
    authentication,
    verdicts,
    failures,
    begin: () => authentication.start(decided, failed),
    proceed: (packet: Auth) => authentication.proceed(packet, decided, failed),
  }
}

describe('AuthenticationExchange', () => {
  it('without a handler, every client is accepted unless it requests enhanced authentication', () => {
    const plain = setUp(undefined, { authenticationMethod: undefined })
    plain.begin()
    expect(plain.verdicts).toEqual([{ type: 'accepted' }])
    const riddles = setUp()
    riddles.begin()
    expect(riddles.verdicts).toMatchObject([{ type: 'refused', reasonCode: REASON.badAuthenticationMethod }])
  })

  it.each([
    ['synchronously', (verdict: Verdict) => verdict],
    ['asynchronously', (verdict: Verdict) => Promise.resolve(verdict)],
  ])('the state that one step returns is passed to the next step when verdicts arrive %s', async (_, give) => {
    const steps: Pick<ConnectCredentials, 'data' | 'state'>[] = []
    const { verdicts, begin, proceed } = setUp((_, { data, state }) => {
      steps.push({ data, state })
      return give(steps.length < 3 ? { ...MORE, state: steps.length } : { type: 'accepted' })
    })
    begin()
    await Promise.resolve().then(() => undefined)
    proceed(auth(REASON.continueAuthentication))
    await Promise.resolve().then(() => undefined)
    proceed(auth(REASON.continueAuthentication))
    await Promise.resolve().then(() => undefined)
    expect(verdicts.map(({ type }) => type)).toEqual(['continue', 'continue', 'accepted'])
    expect(steps.map(({ state }) => state)).toEqual([undefined, 1, 2])
    expect(steps.map(({ data }) => data)).toEqual([utf8('hello'), utf8('answer'), utf8('answer')])
  })

  it('a client can reauthenticate at any time', () => {
    const states: unknown[] = []
    const { verdicts, begin, proceed } = setUp((_, { state }) => {
      states.push(state)
      return states.length === 2 ? MORE : { type: 'accepted' }
    })
    begin()
    proceed(auth(REASON.reAuthenticate))
    proceed(auth(REASON.continueAuthentication))
    expect(verdicts.map(({ type }) => type)).toEqual(['accepted', 'continue', 'accepted'])
    expect(states).toEqual([undefined, undefined, 1])
  })

  it('an authentication step that the broker did not request is rejected', () => {
    const { begin, proceed } = setUp(() => ({ type: 'accepted' }))
    begin()
    expect(() => proceed(auth(REASON.continueAuthentication))).toThrow(protocolError)
  })

  it('reauthentication during an exchange is rejected', () => {
    const { begin, proceed } = setUp(() => MORE)
    begin()
    expect(() => proceed(auth(REASON.reAuthenticate))).toThrow(protocolError)
  })

  it('another authentication step is rejected while a verdict is pending', () => {
    let asked = 0
    const { authentication, begin, proceed } = setUp(() => {
      asked++
      return asked === 1 ? { type: 'accepted' } : new Promise(() => undefined)
    })
    begin()
    proceed(auth(REASON.reAuthenticate))
    expect(authentication.isDeciding).toBe(true)
    expect(() => proceed(auth(REASON.reAuthenticate))).toThrow(protocolError)
    expect(asked).toBe(2)
  })

  it('a method that differs from CONNECT is rejected, and every one if CONNECT had none', () => {
    const { begin, proceed } = setUp(() => MORE)
    begin()
    expect(() => proceed(auth(REASON.continueAuthentication, 'songs'))).toThrow(protocolError)
    const plain = setUp(() => ({ type: 'accepted' }), { authenticationMethod: undefined })
    plain.begin()
    expect(() => plain.proceed(auth(REASON.reAuthenticate))).toThrow(protocolError)
  })

  it('a rejected promise for a verdict is reported as a failure', async () => {
    const fault = new Error('no riddles left')
    const { failures, verdicts, begin } = setUp(() => Promise.reject(fault))
    begin()
    await new Promise(resolve => setImmediate(resolve))
    expect(failures).toEqual([fault])
    expect(verdicts).toEqual([])
  })
})
