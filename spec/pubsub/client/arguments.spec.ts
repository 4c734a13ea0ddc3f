import { beforeEach, describe, expect, it } from 'vitest'
import { FakeSetting } from '../support/fake-socket-client.js'

let setting: FakeSetting

beforeEach(() => {
  setting = new FakeSetting()
})

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

describe('arguments of a send', () => {
  it.each<[string, unknown, object]>([
    ['text that is not a string', 7, { dataType: 'text' }],
    ['an unpaired surrogate', '\uD800', { dataType: 'text' }],
    ['binary data that is not bytes', 'AQID', { dataType: 'binary' }],
    ['protobuf data that is not bytes', {}, { dataType: 'protobuf' }],
    ['protobuf bytes that are not an Any', new Uint8Array([1]), { dataType: 'protobuf' }],
    ['undefined', undefined, {}],
    ['null', null, {}],
    ['a function', () => 1, {}],
    ['bytes as json', new Uint8Array(1), { dataType: 'json' }],
    ['an ArrayBuffer', new ArrayBuffer(1), {}],
    ['an unknown type', 1, { dataType: 'xml' }],
    ['a zero timeout', 1, { timeout: 0 }],
    ['at-least-once without acknowledgement', 1, { ack: false, atLeastOnce: true }],
  ])('`send` throws for %s', (_, data, options) => {
    expect(() => setting.client.group('line').send(data, options)).toThrow(
      expect.objectContaining({ code: 'argument' }),
    )
  })

  it.each<[string, unknown]>([
    [
      'a cycle',
      (() => {
        const cycle: unknown[] = []
        cycle.push(cycle)
        return cycle
      })(),
    ],
    ['NaN, which becomes null', Number.NaN],
    ['an invalid date, which becomes null', new Date(Number.NaN)],
    ['a toJSON that returns null', { toJSON: () => null }],
    ['a map, which becomes {}', new Map([[1, 2]])],
    ['a set, which becomes {}', new Set([1])],
    ['a blob, which becomes {}', new Blob(['x'])],
    ['nesting beyond the limit of the hub', nested(512)],
    ['text beyond the frame limit', 'x'.repeat(2 ** 20)],
    ['text beyond the frame limit only in UTF-8', 'ä'.repeat(2 ** 19)],
  ])('a send errors for %s', (_, data) => {
    setting.connect().client.group('line').send(data).subscribe(setting.observer('send'))
    expect(setting.log).toEqual(['send: argument'])
    expect(setting.socket.frames).toEqual([])
  })

  it.each<[string, unknown]>([
    ['an empty object', {}],
    ['an empty object of a class', new (class Reading {})()],
    ['an object without a prototype', Object.create(null)],
    ['nesting at the limit of the hub', nested(511)],
    ['null inside an object', { celsius: Number.NaN }],
  ])('a send accepts %s', (_, data) => {
    setting.connect().client.group('line').send(data).subscribe(setting.observer('send'))
    expect([setting.log, setting.socket.frames.length]).toEqual([[], 1])
  })

  it.each(['null', '5', '{"noEcho":"false"}', '{"ack":"no"}', '{"atLeastOnce":1}'])(
    '`send` throws for the options %s',
    text => {
      const options = JSON.parse(text)
      expect(() => setting.client.group('line').send(1, options)).toThrow(expect.objectContaining({ code: 'argument' }))
      if (text.includes('noEcho')) return
      expect(() => setting.client.sendEvent('e', 1, options)).toThrow(expect.objectContaining({ code: 'argument' }))
    },
  )

  it.each(['', ' ', '\ud800', 'x'.repeat(1_025)])('a group or an event cannot be named %j', name => {
    expect(() => setting.client.group(name)).toThrow(expect.objectContaining({ code: 'argument' }))
    expect(() => setting.client.sendEvent(name, 1)).toThrow(expect.objectContaining({ code: 'argument' }))
  })

  it('the group reserved for keep-alive cannot be named', () => {
    expect(() => setting.client.group('rx-statestore:alive')).toThrow(expect.objectContaining({ code: 'argument' }))
    expect(() => setting.client.group('rx-statestore:alive2')).not.toThrow()
  })
})
