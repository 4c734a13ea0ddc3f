import { beforeEach, describe, expect, it } from 'vitest'
import { FakeSetting } from '../support/fake-socket-client.js'

let setting: FakeSetting

beforeEach(() => {
  setting = new FakeSetting()
})

/** Arrays in arrays. */
const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

describe('wrong arguments fail before anything is sent', () => {
  it.each<[string, unknown, object]>([
    ['text that is none', 7, { dataType: 'text' }],
    ['half a surrogate pair', '\uD800', { dataType: 'text' }],
    ['binary that is none', 'AQID', { dataType: 'binary' }],
    ['protobuf that is none', {}, { dataType: 'protobuf' }],
    ['protobuf that is no Any', new Uint8Array([1]), { dataType: 'protobuf' }],
    ['undefined', undefined, {}],
    ['null, for which hubs end the session', null, {}],
    ['a function', () => 1, {}],
    ['bytes as json', new Uint8Array(1), { dataType: 'json' }],
    ['an ArrayBuffer', new ArrayBuffer(1), {}],
    ['an unknown type', 1, { dataType: 'xml' }],
    ['a timeout that is none', 1, { timeout: 0 }],
    ['no acknowledgement, but at least once', 1, { ack: false, atLeastOnce: true }],
  ])('thrown: %s', (_, data, options) => {
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
    ['what becomes null: NaN', Number.NaN],
    ['what becomes null: an invalid date', new Date(Number.NaN)],
    ['what becomes null: as it says', { toJSON: () => null }],
    ['what becomes {}: a map', new Map([[1, 2]])],
    ['what becomes {}: a set', new Set([1])],
    ['what becomes {}: a blob', new Blob(['x'])],
    ['what is nested deeper than the hub takes', nested(512)],
    ['more than a frame holds', 'x'.repeat(2 ** 20)],
    ['more bytes than a frame holds', 'ä'.repeat(2 ** 19)],
  ])('raised: %s', (_, data) => {
    setting.connect().client.group('line').send(data).subscribe(setting.observer('send'))
    expect(setting.log).toEqual(['send: argument'])
    expect(setting.socket.frames).toEqual([])
  })

  it.each<[string, unknown]>([
    ['an empty object', {}],
    ['an empty object of a class', new (class Reading {})()],
    ['an object without a prototype', Object.create(null)],
    ['nesting that the hub takes', nested(511)],
    ['null inside of an object', { celsius: Number.NaN }],
  ])('not at all: %s', (_, data) => {
    setting.connect().client.group('line').send(data).subscribe(setting.observer('send'))
    expect([setting.log, setting.socket.frames.length]).toEqual([[], 1])
  })

  it.each(['null', '5', '{"noEcho":"false"}', '{"ack":"no"}', '{"atLeastOnce":1}'])('thrown: the options %s', text => {
    const options = JSON.parse(text)
    expect(() => setting.client.group('line').send(1, options)).toThrow(expect.objectContaining({ code: 'argument' }))
    if (text.includes('noEcho')) return
    expect(() => setting.client.sendEvent('e', 1, options)).toThrow(expect.objectContaining({ code: 'argument' }))
  })

  it.each(['', ' ', '\ud800', 'x'.repeat(1_025)])('thrown: a group or an event named %j', name => {
    expect(() => setting.client.group(name)).toThrow(expect.objectContaining({ code: 'argument' }))
    expect(() => setting.client.sendEvent(name, 1)).toThrow(expect.objectContaining({ code: 'argument' }))
  })

  it('thrown: the group that is reserved for signs of life', () => {
    expect(() => setting.client.group('rx-statestore:alive')).toThrow(expect.objectContaining({ code: 'argument' }))
    expect(() => setting.client.group('rx-statestore:alive2')).not.toThrow()
  })
})
