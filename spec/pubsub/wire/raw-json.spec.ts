import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toHex, utf8 } from '../../../src/core/util/bytes.js'
import { PayloadError } from '../../../src/core/util/errors.js'
import type { FrameData } from '../../../src/pubsub/wire/frames.js'
import { JsonText, jsonOf } from '../../../src/pubsub/wire/json.js'
import { jsonClientCodec } from '../../../src/pubsub/wire/json-client-codec.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { protobufClientCodec } from '../../../src/pubsub/wire/protobuf-client-codec.js'
import { protobufHubCodec } from '../../../src/pubsub/wire/protobuf-hub-codec.js'
import { effort } from '../../support/effort.js'
import { anyJson, anyText } from './arbitrary-frames.js'

/** JSON that changes in a round trip through `JSON.parse` and `JSON.stringify`. */
const FRAGILE = [
  '12345678901234567890',
  '1.0',
  '-0',
  '1e2',
  '1E+400',
  '0.1000000000000000055511151231257827',
  '{"b":1,"a":2,"10":3,"9":4}',
  '{"a":1,"a":2}',
  '{"__proto__":1}',
  '[ 1 ,\t2 ]',
  '"\\u0041\\/\\ud800"',
  'null',
  '"}],{\\"data\\":[\\\\"',
  '{"data":7,"x":[{"data":8}]}',
]

const space = fc.constantFrom('', ' ', '\n', '\t \r')
/** White space and unusual spellings of strings and numbers. */
const anySpelling: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...FRAGILE),
  fc.tuple(anyJson, fc.constantFrom(0, 1, 3)).map(([value, indent]) => JSON.stringify(value, null, indent)),
  anyText.map(text => `"${Array.from(text, c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`),
  fc.bigInt().map(String),
)

/** Returns the data of a JSON client's frame, as decoded by the hub. */
function published(frame: string): JsonText {
  const decoded = jsonHubCodec.decode(frame)
  if (decoded.type !== 'sendToGroup' || !(decoded.payload.data instanceof JsonText)) throw new Error(decoded.type)
  return decoded.payload.data
}

/** Returns the data of a protobuf client's frame, as decoded by the hub. */
function publishedBytes(text: string): JsonText {
  const payload = { dataType: 'json', data: new JsonText(text) } as const
  const decoded = protobufHubCodec.decode(
    protobufClientCodec.encode({ type: 'sendToGroup', group: 'g', payload, noEcho: false }, jsonOf),
  )
  if (decoded.type !== 'sendToGroup' || !(decoded.payload.data instanceof JsonText)) throw new Error(decoded.type)
  return decoded.payload.data
}

const bytesOf = (data: FrameData): Uint8Array => (typeof data === 'string' ? utf8(data) : data)

const toMember = (data: JsonText) =>
  ({ type: 'groupMessage', group: 'g', payload: { dataType: 'json', data }, sequenceId: 1n }) as const

describe('published JSON', () => {
  it.each(FRAGILE)('JSON is forwarded unchanged: %s', text => {
    const data = published(`{"type":"sendToGroup","group":"g","dataType":"json","data":${text}}`)
    expect(data.text).toBe(text)
    expect(jsonHubCodec.encode(toMember(data))).toContain(`,"data":${text},"sequenceId":1}`)
    expect(toHex(bytesOf(protobufHubCodec.encode(toMember(data))))).toContain(toHex(utf8(text)))
    expect(publishedBytes(text).text).toBe(text)
  })

  it('JSON is forwarded unchanged if its member name is escaped', () => {
    expect(published('{"type":"sendToGroup","group":"g","d\\u0061ta":1.0}').text).toBe('1.0')
  })

  it('JSON is forwarded unchanged regardless of the other members', () => {
    const before = fc.array(fc.tuple(fc.constantFrom('"data"', '"d\\u0061ta"', '"x"', '"data\\""'), anySpelling), {
      maxLength: 3,
    })
    fc.assert(
      fc.property(anySpelling, before, space, fc.boolean(), (text, others, gap, isLast) => {
        const head = [`"type"${gap}:${gap}"sendToGroup"`, '"group":"g"', ...others.map(([name, of]) => `${name}:${of}`)]
        const member = `"data"${gap}:${gap}${text}${gap}`
        const members = isLast ? [...head, member] : [...head, member, `"later"${gap}:{"data":1}`]
        const frame = `${gap}{${gap}${members.join(`${gap},${gap}`)}${gap}}${gap}`
        const { text: taken } = published(frame)
        expect(taken).toBe(text)
        // The scanner and the parser return the same value.
        expect(JSON.parse(taken)).toEqual(JSON.parse(frame).data)
      }),
      { numRuns: effort(2_000, 200) },
    )
  })

  it('members receive the exact JSON in either subprotocol', () => {
    fc.assert(
      fc.property(anySpelling, text => {
        for (const data of [published(`{"type":"sendToGroup","group":"g","data":${text}}`), publishedBytes(text)]) {
          expect(data.text).toBe(text)
          const frame = String(jsonHubCodec.encode(toMember(data)))
          expect(frame.slice(frame.indexOf(',"data":') + 8, -',"sequenceId":1}'.length)).toBe(text)
          for (const read of [
            jsonClientCodec.decode(frame),
            protobufClientCodec.decode(protobufHubCodec.encode(toMember(data))),
          ]) {
            expect(read).toMatchObject({ type: 'groupMessage', sequenceId: 1n })
          }
        }
      }),
      { numRuns: effort(1_000, 200) },
    )
  })

  it.each(['', ' ', '1,"x":2', '{', '[1', '01', "'a'", 'undefined', '{}}', '\u00a01', '\ufeff1'])(
    'the hub rejects invalid JSON: %j',
    text => {
      expect(() => publishedBytes(text)).toThrow(PayloadError)
    },
  )

  it('decoding takes linear time for every kind of content', { tags: 'slow' }, () => {
    for (const piece of ['\\\\', '\\"', '[],', '{"data":1},', '"\\u0064ata",', '          ', '1,']) {
      const filler = piece.repeat(Math.floor(900_000 / piece.length))
      const isString = piece.startsWith('\\')
      const text = isString ? `"${filler}"` : `[${filler}0]`
      expect(published(`{"type":"sendToGroup","group":"g","data":${text}}`).text).toBe(text)
    }
    const names = '"\\u0064ata":1,'.repeat(60_000)
    expect(published(`{"type":"sendToGroup","group":"g",${names}"data":2}`).text).toBe('2')
  })
})
