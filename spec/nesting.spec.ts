import { of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { prettyJson } from '../console/src/model/json-layout.js'
import { keyParts } from '../console/src/model/key-parts.js'
import { visibleKey } from '../console/src/model/key-pieces.js'
import { treeRows } from '../console/src/model/key-tree.js'
import { parseValue } from '../console/src/model/typed-value.js'
import { previewValue } from '../console/src/model/value.js'
import { entryLine } from '../src/cli/json.js'
import { json, jsonLines, type StateStore } from '../src/client/index.js'
import { SOURCE } from '../src/client/keys/source.js'
import { matching } from '../src/client/matching/index.js'
import { optimistic } from '../src/client/optimistic/index.js'
import { EntryReader } from '../src/client/react/use-key.js'
import { KeysWatch } from '../src/client/react/use-keys.js'
import { parsePattern } from '../src/client/retained/pattern.js'
import { parseReferences } from '../src/client/session/addresses.js'
import { applyPatch, difference, isSame, mergedFields } from '../src/client/shadow/fields.js'
import { shadow } from '../src/client/shadow/index.js'
import { keyFromId } from '../src/client/watch/key-name.js'
import { Hlc } from '../src/core/hlc/hlc.js'
import { compileGlob } from '../src/core/protocol/glob.js'
import { parseNotification } from '../src/core/protocol/notifications.js'
import { parseCommand } from '../src/core/protocol/parse-command.js'
import { readPage, readValue } from '../src/core/protocol/replies.js'
import { toHex, utf8 } from '../src/core/util/bytes.js'
import { reason, rootCause } from '../src/core/util/errors.js'
import { hasSameContent } from '../src/core/util/same-content.js'
import { DumpReader } from '../src/node/dump/codec.js'
import { checkedJson, JsonText, memberText, shallowMembers } from '../src/pubsub/wire/json.js'
import { jsonClientCodec } from '../src/pubsub/wire/json-client-codec.js'
import { jsonHubCodec } from '../src/pubsub/wire/json-hub-codec.js'
import { isAny } from '../src/pubsub/wire/protobuf-any.js'
import { protobufClientCodec } from '../src/pubsub/wire/protobuf-client-codec.js'
import { protobufHubCodec } from '../src/pubsub/wire/protobuf-hub-codec.js'
import { record } from './support/open-client.js'
import { fakeStore } from './support/operator-session.js'

const DEPTH = 1_000_000

const ARRAYS = '['.repeat(DEPTH) + ']'.repeat(DEPTH)
const TEXTS: readonly string[] = [ARRAYS, `${'{"a":'.repeat(DEPTH)}1${'}'.repeat(DEPTH)}`, '['.repeat(DEPTH)]
const VALUES: readonly (readonly [unknown, unknown])[] = TEXTS.slice(0, 2).map(text => [
  JSON.parse(text),
  JSON.parse(text),
])

const document = (text: string): string => `{"speed":1,"x":${text}}`
const repeated = (piece: readonly number[]): Uint8Array => {
  const bytes = new Uint8Array(DEPTH * piece.length)
  for (let at = 0; at < bytes.length; at++) bytes[at] = piece[at % piece.length] ?? 0
  return bytes
}

/** Every function that reads nested data of other programs, by name. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  'the codec json': stored => json().decode(utf8(stored)),
  'the codec json with overlong numbers': stored => json().decode(utf8(`[1e400,${stored}]`)),
  'the codec jsonLines': stored => jsonLines().decode(utf8(stored)),
  'the codec json of a schema': stored =>
    json({ '~standard': { version: 1, vendor: 'spec', validate: value => ({ value: JSON.stringify(value) }) } }).decode(
      utf8(stored),
    ),
  'the dump reader': line => new DumpReader().read(line),
  'the header of a dump': line => new DumpReader().read(`{"dump":${line}}`),
  'the trailer of a dump': line => {
    const reader = new DumpReader()
    reader.read('{"dump":1}')
    return reader.read(`{"end":${line}}`)
  },
  'the value of a dump': line => new DumpReader().read(`{"key":"k","value":${line}}`),
  'the JSON codec of pub/sub clients': data =>
    jsonClientCodec.decode(`{"type":"message","from":"server","dataType":"json","sequenceId":1,"data":${data}}`),
  'the JSON codec of the hub': data =>
    jsonHubCodec.decode(`{"type":"sendToGroup","group":"g","dataType":"json","data":${data}}`),
  'the JSON scanner': checkedJson,
  'the shallow parser of JSON': data => shallowMembers(`{"data":${data}}`, new Set(['data'])),
  'the text of a member': data => memberText(`{"data":${data},"a":1}`, 'a'),
  'the text of JSON': data => new JsonText(data).value,
  'the preview of a value in the console': value => previewValue(utf8(value)),
  'the editor of the console': value => [parseValue('json', value), prettyJson(value.slice(0, 65_536))],
  'NDJSON of the command line': value =>
    entryLine({ key: 'k', op: 'set', value: utf8(value), version: undefined, source: 'snapshot' }, 0, false),
  'a glob': glob => compileGlob(utf8(glob.slice(0, 10_000))).matches(utf8('a')),
  'a server reference': parseReferences,
  'a version': Hlc.parse,
}

const PATHS: Readonly<Record<string, (path: string) => unknown>> = {
  'the tree of the console': name => treeRows([{ id: toHex(utf8(name)), name, binary: false }], () => true),
  'the key of the console': name => [keyParts(name), visibleKey(name)],
  'the pattern of a retained sync': name => [
    parsePattern('a/#', 'k/{#}').toKey(`a/${name}`),
    parsePattern('a/#', 'k/{#}').toTopic(`k/${name}`),
  ],
  'a key id': name => keyFromId(toHex(utf8(name))),
}

const PACKETS: Readonly<Record<string, (bytes: Uint8Array) => unknown>> = {
  'a reply with a value': bytes => readValue(bytes, 'k'),
  'a page of a scan': readPage,
  'a notification': parseNotification,
  'a command': parseCommand,
  'the protobuf codec of pub/sub clients': protobufClientCodec.decode,
  'the protobuf codec of the hub': protobufHubCodec.decode,
  'a protobuf message of any type': isAny,
}

const VALUE_FUNCTIONS: Readonly<Record<string, (one: unknown, other: unknown) => unknown>> = {
  'the comparison of content': hasSameContent,
  'the comparison of fields': isSame,
  'the delta of a shadow': (one, other) => difference({ x: one }, { x: other }),
  'the merge of a shadow': (one, other) => mergedFields({ x: one }, { x: other }, { x: one }),
  'a patch of a shadow': (one, other) => applyPatch({ x: one }, { x: other }),
  'the encoding of JSON': one => json().encode(one),
  'the encoding of JSON lines': one => jsonLines().encode([one]),
}

/** Returns the error of a function that called itself too often. Malformed data may be refused with any other error. */
function faultOf(run: () => unknown): string | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    for (let cause = error; cause instanceof Error; cause = cause.cause)
      if (cause.message.includes('call stack')) return error instanceof Error ? error.message : cause.message
    return undefined
  }
}

describe(`data that is nested ${DEPTH} levels deep`, () => {
  it.each(Object.entries(READERS))('%s reads or refuses it', (_, read) => {
    for (const text of TEXTS) expect(faultOf(() => read(text))).toBeUndefined()
  })

  it.each(Object.entries(PATHS))('%s splits it', (_, split) => {
    expect(faultOf(() => split('a/'.repeat(DEPTH)))).toBeUndefined()
  })

  it.each(Object.entries(PACKETS))('%s reads or refuses it', (_, read) => {
    for (const bytes of [repeated([...utf8('*1\r\n')]), repeated([0x0b]), repeated([0x0a, 0x7f]), utf8(ARRAYS)])
      expect(faultOf(() => read(bytes))).toBeUndefined()
  })

  it.each(Object.entries(VALUE_FUNCTIONS))('%s handles or refuses it', (_, run) => {
    for (const [one, other] of VALUES) expect(faultOf(() => run(one, other))).toBeUndefined()
  })

  it('the text of a chain of causes names the last one, and of a cyclic chain any', () => {
    let error = new Error('first')
    for (let i = 0; i < 50; i++) error = new Error('later', { cause: error })
    expect(rootCause(error)).toBe('first')
    const cyclic: Error = new Error('cyclic')
    cyclic.cause = cyclic
    const group = new AggregateError([], '')
    group.errors.push(group)
    expect([rootCause(cyclic), typeof reason(group), typeof rootCause(group)]).toEqual(['cyclic', 'string', 'string'])
  })
})

/** The views of a key or a document, each of which must survive a value that it cannot read. */
const VIEWS: Readonly<Record<string, (store: StateStore) => (() => unknown) | undefined>> = {
  'a key': store => seen(store.key('pump/desired', json()).entries$),
  'an optimistic view': store => seen(optimistic(store.key('pump/desired', json())).state$),
  'the values of a view': store => seen(optimistic(store.key('pump/desired', json())).value$),
  'a watched glob': store => seen(matching(store, 'pump/*', json()).entries$),
  'a shadow': store => seen(shadow(store, 'pump').state$),
  'the delta of a shadow': store => seen(shadow(store, 'pump').delta$),
  'a device': store => seen(shadow(store, 'pump').follow(({ delta }) => of(delta))),
  'a hook of keys': store => {
    const watch = new KeysWatch([store.key('pump/desired', json())])
    const stop = watch.subscribe(() => undefined)
    stop()
    return undefined
  },
  'a hook of a key': store => {
    const raw = { op: 'set', value: utf8(ARRAYS), version: undefined, source: 'snapshot' } as const
    const reader = new EntryReader(store.key('pump/desired', json())[SOURCE])
    expect(reader.snapshotOf({ raw, freshness: { state: 'live' }, error: undefined }).error?.code).toBe('decode')
    return undefined
  },
}

function seen(source: Parameters<typeof record<unknown>>[0]): () => unknown {
  const recording = record(source)
  return () => recording.error
}

it('the indentation of deeply nested JSON in the console is limited', () => {
  const depth = 30_000
  const shown = prettyJson('['.repeat(depth) + ']'.repeat(depth))
  expect(shown.length / depth).toBeLessThan(300)
  expect(prettyJson('[[1]]')).toBe('[\n  [\n    1\n  ]\n]')
})

describe('a stored value that is nested too deep', () => {
  it.each(Object.entries(VIEWS))('%s continues, and the error is reported', (_, open) => {
    for (const deep of [513, 20_000, DEPTH]) {
      const stored = document('['.repeat(deep) + ']'.repeat(deep))
      const { store } = fakeStore(({ verb }) =>
        of({
          payload: verb === 'GET' ? `$${stored.length}\r\n${stored}\r\n` : '+OK\r\n',
          properties: { __ts: '1:0:S' },
        }),
      )
      expect(open(store)?.()).toBeUndefined()
    }
  })

  it.each([1, 512])('a value of %i levels is written and read', depth => {
    const text = '['.repeat(depth) + ']'.repeat(depth)
    expect(json().encode(JSON.parse(text))).toEqual(utf8(text))
    expect(JSON.stringify(json().decode(utf8(text)))).toBe(text)
  })

  it('a value of 513 levels is refused with the limit in the message', () => {
    const text = `${'{"a":'.repeat(513)}1${'}'.repeat(513)}`
    expect(() => json().decode(utf8(text))).toThrow('The JSON is nested deeper than 512 levels')
    expect(() => json().encode(JSON.parse(text))).toThrow('nested deeper than 512 levels')
  })
})
