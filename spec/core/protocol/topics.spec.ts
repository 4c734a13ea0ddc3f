import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  INVOKE_TOPIC,
  isAllowedResponseTopic,
  notificationFilter,
  notificationPrefix,
  RESERVED_RESPONSE_PREFIX,
  responseTopic,
} from '../../../src/core/protocol/topics.js'
import { fromHex, toHex, utf8 } from '../../../src/core/util/bytes.js'
import { anyCodePoint } from '../../support/any-code-point.js'

const NOTIFY = 'clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/636C69656E742D696431/command/notify/'

describe('INVOKE_TOPIC', () => {
  it('equals the topic in the protocol', () => {
    expect(INVOKE_TOPIC).toBe('statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke')
  })
})

describe('responseTopic', () => {
  it('returns the recommended response topic of a client', () => {
    expect(responseTopic('client-id1')).toBe('clients/client-id1/services/statestore/_any_/command/invoke/response')
  })

  it('returns a topic that isAllowedResponseTopic accepts', () => {
    expect(isAllowedResponseTopic(responseTopic('client-id1'))).toBe(true)
  })
})

describe('notificationPrefix', () => {
  const notificationTopic = (clientId: string, key: Uint8Array): string => notificationPrefix(clientId) + toHex(key)

  it('encodes the client id in upper-case Base16, like the key after it', () => {
    expect(notificationTopic('client-id1', utf8('SOMEKEY'))).toBe(`${NOTIFY}534F4D454B4559`)
  })

  it('encodes client ids beyond ASCII as UTF-8', () => {
    expect(notificationPrefix('\u00e9')).toContain('/C3A9/')
  })

  it('is followed by a distinct, reversible topic level for each key', () => {
    const anyKey = fc.uint8Array({ minLength: 1, maxLength: 32 })
    fc.assert(
      fc.property(fc.string({ unit: anyCodePoint }), anyKey, (clientId, key) => {
        const topic = notificationTopic(clientId, key)
        const prefix = notificationPrefix(clientId)
        expect(topic.startsWith(prefix)).toBe(true)
        expect(fromHex(topic.slice(prefix.length))).toEqual(key)
        expect(topic.split('/')).toHaveLength(NOTIFY.split('/').length)
        expect(topic).not.toMatch(/[+#\0]/)
      }),
    )
  })
})

describe('notificationFilter', () => {
  it('matches the notifications of all keys of one client', () => {
    expect(notificationFilter('client-id1')).toBe(`${NOTIFY}+`)
    expect(notificationPrefix('client-id1')).toBe(NOTIFY)
  })
})

describe('isAllowedResponseTopic', () => {
  it.each([
    INVOKE_TOPIC,
    RESERVED_RESPONSE_PREFIX,
    'clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8',
    'clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/x',
    'clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8-and-more',
    `${NOTIFY}534F4D454B4559`,
  ])('rejects %s', topic => {
    expect(isAllowedResponseTopic(topic)).toBe(false)
  })

  it.each([
    'clients/client-id1/services/statestore/_any_/command/invoke/response',
    'anything',
    `${INVOKE_TOPIC}/response`,
    'statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8',
    'clients/statestore/v1/fa9ae35f-2f64-47cd-9bff-08e2b32a0fe8/x',
    'clients/statestore/v1',
    'my/clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8',
  ])('accepts %s', topic => {
    expect(isAllowedResponseTopic(topic)).toBe(true)
  })
})
