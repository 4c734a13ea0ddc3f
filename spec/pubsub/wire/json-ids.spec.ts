import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PayloadError } from '../../../src/core/util/errors.js'
import { isNestedWithin } from '../../../src/core/util/json-nesting.js'
import { memberText } from '../../../src/pubsub/wire/json.js'
import { jsonClientCodec } from '../../../src/pubsub/wire/json-client-codec.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { effort } from '../../support/effort.js'
import { anyId, anyJson, anyText } from './arbitrary-frames.js'

const EXACT = ['9007199254740993', '9007199254740994', '9007199254740995', '18446744073709551615', '9007199254740991']
const sequenceAck = (text: string): unknown => jsonHubCodec.decode(`{"type":"sequenceAck",${text}}`)
const acked = (sequenceId: bigint): unknown => ({ type: 'sequenceAck', sequenceId })

describe('an id in JSON', () => {
  it.each(EXACT)('the id %s is decoded and encoded exactly', digits => {
    const id = BigInt(digits)
    const up = jsonClientCodec.encode({ type: 'sequenceAck', sequenceId: id })
    expect(up).toBe(`{"type":"sequenceAck","sequenceId":${digits}}`)
    expect(jsonHubCodec.decode(up)).toEqual(acked(id))
    const down = jsonHubCodec.encode({ type: 'ack', ackId: id, success: true })
    expect(down).toBe(`{"type":"ack","ackId":${digits},"success":true}`)
    expect(jsonClientCodec.decode(down)).toEqual({ type: 'ack', ackId: id, success: true })
  })

  it.each([
    ['a name with an escape', '"sequence\\u0049d":9007199254740993'],
    [
      'a name made only of escapes',
      `"${[...'sequenceId'].map(c => `\\u00${c.charCodeAt(0).toString(16)}`).join('')}":9007199254740993`,
    ],
    ['white space', ' \t"sequenceId"\r\n :\n 9007199254740993 \n'],
    ['several members', '"sequenceId":9007199254740997,"sequenceId":9007199254740993'],
    [
      'several members in different spellings',
      '"sequence\\u0049d":1,"sequenceId":"x","sequenceI\\u0064":9007199254740993',
    ],
    ['a member of the same name in data', '"sequenceId":9007199254740993,"data":{"sequenceId":9007199254740999}'],
    ['a member of the same name in an array', '"sequenceId":9007199254740993,"data":[{"sequenceId":9007199254740999}]'],
    ['the name inside a string', '"sequenceId":9007199254740993,"data":"\\",\\"sequenceId\\":9007199254740999"'],
    ['a string value equal to the name', '"sequenceId":9007199254740993,"data":"sequenceId","x":9007199254740999'],
    ['a longer name', '"sequenceId":9007199254740993,"xsequenceId":9007199254740999,"sequenceId\\"":9007199254740999'],
    ['a string of backslashes before the id', '"data":"\\\\\\\\","sequenceId":9007199254740993'],
    ['brackets in strings before the id', '"a":"}]","b":["{[\\"",{"c":"}"}],"sequenceId":9007199254740993'],
  ])('the id is read from the last member with its name: %s', (_, text) => {
    expect(sequenceAck(text)).toEqual(acked(9_007_199_254_740_993n))
  })

  it.each([
    ['0', 0n],
    ['-0', 0n],
    ['1e3', 1000n],
    ['5.0', 5n],
    ['9007199254740991', 2n ** 53n - 1n],
  ])('the id may have any spelling of a safe integer: %s', (text, id) => {
    expect(sequenceAck(`"sequenceId":${text}`)).toEqual(acked(id))
  })

  const REFUSED = [
    '-1',
    '1.5',
    '1e-3',
    '-9007199254740993',
    '9007199254740993.0',
    '9.007199254740993e15',
    '1e16',
    '1e400',
    '-1e400',
    '18446744073709551616',
    '99999999999999999999',
    `1${'0'.repeat(400)}`,
    '"x"',
    '""',
    '"-1"',
    '"1.5"',
    '"18446744073709551616"',
    '" 1"',
    '"0x1"',
    'true',
    '[]',
    '[1]',
    '{}',
  ]

  it.each([...REFUSED, '"5"', '"9007199254740993"'])('the hub rejects the id %s', text => {
    expect(() => sequenceAck(`"sequenceId":${text}`)).toThrow(PayloadError)
    expect(() => jsonHubCodec.decode(`{"type":"joinGroup","group":"g","ackId":${text}}`)).toThrow(
      expect.objectContaining({ message: expect.stringContaining('ackId must be an integer from 0 to 2^64-1') }),
    )
  })

  it.each(REFUSED)('the client rejects the id %s', text => {
    const frame = `{"type":"message","from":"server","data":1,"sequenceId":${text}}`
    expect(() => jsonClientCodec.decode(frame)).toThrow(PayloadError)
    expect(() => jsonClientCodec.decode(`{"type":"ack","ackId":${text},"success":true}`)).toThrow(PayloadError)
  })

  it.each(EXACT)('the client accepts the quoted id "%s"', digits => {
    const frame = `{"type":"message","from":"server","data":1,"sequenceId":"${digits}"}`
    expect(jsonClientCodec.decode(frame)).toMatchObject({ sequenceId: BigInt(digits) })
  })

  it('a null id counts as absent, and 0 is an id', () => {
    const decoded = ['', ',"ackId":null', ',"ackId":0'].map(ackId =>
      jsonHubCodec.decode(`{"type":"joinGroup","group":"g"${ackId}}`),
    )
    expect(decoded).toEqual([
      { type: 'joinGroup', group: 'g', ackId: undefined },
      { type: 'joinGroup', group: 'g', ackId: undefined },
      { type: 'joinGroup', group: 'g', ackId: 0n },
    ])
  })

  it('numbers inside data are not changed', () => {
    const payload = { dataType: 'json', data: { sequenceId: 5, text: '"sequenceId":9007199254740993' } } as const
    const frame = jsonHubCodec.encode({ type: 'serverMessage', payload, sequenceId: 2n ** 64n - 1n })
    expect(frame).toBe(
      '{"type":"message","from":"server","dataType":"json","data":{"sequenceId":5,"text":"\\"sequenceId\\":9007199254740993"},"sequenceId":18446744073709551615}',
    )
    expect(jsonClientCodec.decode(frame)).toEqual({ type: 'serverMessage', payload, sequenceId: 2n ** 64n - 1n })
  })
})

describe('memberText', () => {
  const anyMember = fc.tuple(
    fc.oneof(fc.constantFrom('sequenceId', 'ackId', 'data', ''), anyText),
    fc.oneof(
      anyJson.map(value => JSON.stringify(value)),
      anyId.map(String),
    ),
  )
  const space = fc.constantFrom('', ' ', '\n\t')

  /** Spells some characters of a name as escapes. */
  const spelled = (name: string, escaped: number): string =>
    JSON.stringify(name).replace(/[A-Za-z]/g, (char, at: number) =>
      (escaped >> (at % 31)) & 1 ? `\\u00${char.charCodeAt(0).toString(16)}` : char,
    )

  // JSON.stringify already escapes such names, so their letters cannot be escaped.
  const isPlain = (name: string): boolean => JSON.stringify(name) === `"${name}"`

  it('finds the last member with a name, as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.array(anyMember, { maxLength: 6 }), anyId, fc.nat(), space, (members, id, escaped, gap) => {
        const all = [...members, ['sequenceId', String(id)] as const]
        const others = members.filter(([name]) => name !== 'sequenceId')
        const text = [...all, ...others]
          .map(
            ([name, value]) =>
              `${gap}${isPlain(name) ? spelled(name, escaped) : JSON.stringify(name)}${gap}:${gap}${value}`,
          )
          .join(`${gap},`)
        expect(Object.hasOwn(JSON.parse(`{${text}}`), 'sequenceId')).toBe(true)
        expect(memberText(`{${text}${gap}}`, 'sequenceId')).toBe(String(id))
      }),
      { numRuns: effort(2_000, 200) },
    )
  })

  it('returns undefined if the member is missing', () => {
    expect(memberText('{}', 'ackId')).toBeUndefined()
    expect(memberText('{"data":{"ackId":1},"b":["ackId"],"c":"ackId"}', 'ackId')).toBeUndefined()
  })

  it('takes linear time', () => {
    const strings = ['\\\\'.repeat(250_000), '\\"'.repeat(250_000), '\\"\\\\'.repeat(125_000)]
    for (const data of strings) {
      expect(sequenceAck(`"data":"${data}","sequenceId":9007199254740993`)).toEqual(acked(9_007_199_254_740_993n))
    }
    const members = '"\\u0061":1,'.repeat(80_000)
    expect(sequenceAck(`${members}"sequenceId":9007199254740993`)).toEqual(acked(9_007_199_254_740_993n))
  })
})

describe('isNestedWithin', () => {
  it.each([
    ['[]', 1, true],
    ['[[]]', 1, false],
    ['[[]]', 2, true],
    ['[[],[],[]]', 2, true],
    ['{"a":[{"b":1}]}', 2, false],
    ['{"a":[{"b":1}]}', 3, true],
    ['["[[[[[[", "{{{\\"{{{"]', 1, true],
    ['"[[[', 1, true],
  ])('%s within %i levels is %s', (text, limit, is) => {
    expect(isNestedWithin(limit, text)).toBe(is)
  })
})
