import { describe, expect, it } from 'vitest'
import { identifyRequester } from '../../../src/server/attach/attached-request-handler.js'

const topicOf = (owner: string): string => `clients/${owner}/services/statestore/_any_/command/invoke/response`
const asks = (
  responseTopic: string | undefined,
  userProperties: Record<string, string | string[]> = {},
  vouched?: string,
) => identifyRequester({ payload: new Uint8Array(0), responseTopic, userProperties }, vouched)

describe('the sender of a request that arrives through a broker', () => {
  it('the sender of a request is the client that owns the response topic', () => {
    expect(asks(topicOf('panel-7'))).toEqual({ clientId: 'panel-7' })
  })

  it('the Base16 client id in the response topic names the sender, if the request agrees', () => {
    const hex = Buffer.from('panel-7').toString('hex').toUpperCase()
    expect(asks(topicOf(hex), { __srcId: 'panel-7' })).toEqual({ clientId: 'panel-7' })
    expect(asks(topicOf(hex), { __srcId: 'panel-8' })).toEqual({ clientId: hex })
    expect(asks(topicOf('panel-8'), { __srcId: 'panel-7' })).toEqual({ clientId: 'panel-8' })
  })

  it.each([
    undefined,
    '',
    'doors/open',
    'clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/x',
    'clients/a/b/services/statestore/x',
    'clients//services/statestore/x',
    topicOf('+'),
    topicOf('a#'),
    topicOf('a\0'),
    topicOf('a'.repeat(65_536)),
  ])('the sender of a request is unknown for the response topic %s', responseTopic => {
    expect(asks(responseTopic)).toBeUndefined()
  })

  it.each([
    `clients/a/services/statestore/${'x/'.repeat(12)}x`,
    topicOf('a'.repeat(4_096)),
    topicOf('a\u0001'),
    topicOf('a\uffff'),
  ])('the sender of a request gets no response on a response topic that brokers may reject', responseTopic => {
    expect(asks(responseTopic)).toHaveProperty('unanswerable')
  })

  it('the sender of a request gets a response on a response topic with sixteen levels', () => {
    expect(asks(`clients/a/services/statestore/${'x/'.repeat(11)}x`)).toEqual({ clientId: 'a' })
  })

  it('a unique identity property names the sender, if its client owns the response topic', () => {
    expect(asks(topicOf('a'), { who: 'a' }, 'who')).toEqual({ clientId: 'a' })
    expect(asks(topicOf('a'), {}, 'who')).toHaveProperty('refused')
    for (const who of [
      ['a', 'a'],
      ['b', 'a'],
    ])
      expect(asks(topicOf('a'), { who }, 'who')).toEqual({ impostor: undefined })
    expect(asks(topicOf('a'), { who: 'b' }, 'who')).toEqual({ impostor: 'b' })
  })
})
