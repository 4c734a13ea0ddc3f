import { describe, expect, it } from 'vitest'
import { encodeCommand } from '../../../src/core/protocol/commands.js'
import { encodeNotification, parseNotification } from '../../../src/core/protocol/notifications.js'
import { CommandError, parseCommand } from '../../../src/core/protocol/parse-command.js'
import {
  encodeReply,
  readConditional,
  readDeleted,
  readPage,
  readValue,
  readWatched,
} from '../../../src/core/protocol/replies.js'
import { decode, decodeReply } from '../../../src/core/resp3/decode.js'
import { concatBytes, toBinaryString, utf8 } from '../../../src/core/util/bytes.js'
import { PayloadError, ServiceError } from '../../../src/core/util/errors.js'
import { effort, nightly, SEED } from '../../support/effort.js'
import { SAMPLES } from './values.js'

describe('any input', () => {
  const INPUTS = effort(nightly(1_000_000, 100_000), 10_000)

  /** Returns seeded 32-bit random integers (mulberry32), which are fast and reproducible for a million inputs. */
  function randomOf(seed: number): (below: number) => number {
    let state = seed
    return below => {
      state = (state + 0x6d2b79f5) | 0
      let mixed = Math.imul(state ^ (state >>> 15), state | 1)
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
      return ((mixed ^ (mixed >>> 14)) >>> 0) % below
    }
  }

  const key = utf8('key')
  const VALID = [
    ...SAMPLES.map(([payload]) => utf8(payload)),
    encodeCommand({ verb: 'SET', key, value: utf8('v\r\n'), condition: undefined, px: undefined }),
    encodeCommand({ verb: 'SET', key, value: key, condition: { type: 'NX' }, px: 1000 }),
    encodeCommand({ verb: 'SET', key, value: key, condition: { type: 'NEX', comparand: utf8('PX') }, px: 10 }),
    encodeCommand({ verb: 'GET', key }),
    encodeCommand({ verb: 'VDEL', key, value: utf8('') }),
    encodeCommand({ verb: 'KEYNOTIFY', key, stop: true }),
    encodeCommand({ verb: 'SCAN', glob: key, token: utf8('\r\n') }),
    encodeReply({ type: 'page', keys: [], token: undefined }),
    encodeReply({ type: 'page', keys: [key, utf8('\r\n')], token: undefined }),
    encodeReply({ type: 'page', keys: [key], token: utf8('*1\r\n') }),
    ...['21', '', '\r\n'].map(value => encodeNotification({ op: 'set', value: utf8(value) })),
    encodeNotification({ op: 'delete' }),
    ...['+OK', ':0', ':1', ':-1', '$2\r\n21', '-ERR the quota has been exceeded'].map(line => utf8(`${line}\r\n`)),
  ]
  const HOSTILE = [
    '$999999999999999\r\n',
    '*2147483647\r\n',
    '*4294967296\r\n',
    '$-2\r\n',
    '$-1\r\n',
    '*-1\r\n',
    '*1\r\n',
  ]
    .concat(['*1\r\n'.repeat(40), ':9007199254740993\r\n', '\r\n', '\r', '\n', '$', '*', '-', '\ufeff', 'NEX', 'PX'])
    .map(utf8)

  function mutate(payload: Uint8Array, other: Uint8Array, random: (below: number) => number): Uint8Array {
    const at = random(payload.length + 1)
    switch (random(6)) {
      case 0:
        return payload.slice(0, at)
      case 1: {
        const flipped = payload.slice()
        if (at < flipped.length) flipped[at] = (flipped[at] ?? 0) ^ (1 << random(8))
        return flipped
      }
      case 2:
        return concatBytes([payload.subarray(0, at), Uint8Array.of(random(256)), payload.subarray(at)])
      case 3:
        return concatBytes([payload.subarray(0, at), other.subarray(random(other.length + 1))])
      case 4:
        return concatBytes([payload.subarray(0, at), payload.subarray(at + 1 + random(4))])
      default: {
        const hostile = HOSTILE[random(HOSTILE.length)] ?? payload
        return concatBytes([payload.subarray(0, at), hostile, payload.subarray(at + random(3) * hostile.length)])
      }
    }
  }

  function input(random: (below: number) => number): Uint8Array {
    if (random(5) === 0) {
      // Random bytes, either of any value or only those that have a meaning on the wire.
      const alphabet = random(2) === 0 ? undefined : utf8('\r\n\r\n$*+-:0123')
      return Uint8Array.from({ length: random(24) }, () => alphabet?.[random(alphabet.length)] ?? random(256))
    }
    let payload = VALID[random(VALID.length)] ?? key
    for (let rounds = random(4); rounds > 0; rounds--) {
      payload = mutate(payload, VALID[random(VALID.length)] ?? key, random)
    }
    return payload
  }

  const isPayloadError = (error: unknown): boolean => error instanceof PayloadError
  const isCommandError = (error: unknown): boolean => error instanceof CommandError
  const isReplyError = (error: unknown): boolean => error instanceof PayloadError || error instanceof ServiceError
  type Reader = { name: string; read(bytes: Uint8Array): unknown; isOwn(error: unknown): boolean; accepted: number }
  const readers = (): Reader[] => [
    { name: 'decode', read: bytes => decode(bytes), isOwn: isPayloadError, accepted: 0 },
    { name: 'decodeReply', read: decodeReply, isOwn: isPayloadError, accepted: 0 },
    { name: 'parseCommand', read: parseCommand, isOwn: isCommandError, accepted: 0 },
    { name: 'parseNotification', read: parseNotification, isOwn: isPayloadError, accepted: 0 },
    { name: 'readConditional', read: bytes => readConditional(bytes, 'key'), isOwn: isReplyError, accepted: 0 },
    { name: 'readValue', read: bytes => readValue(bytes, 'key'), isOwn: isReplyError, accepted: 0 },
    { name: 'readDeleted', read: bytes => readDeleted(bytes, 'key'), isOwn: isReplyError, accepted: 0 },
    { name: 'readWatched', read: bytes => readWatched(bytes, 'key'), isOwn: isReplyError, accepted: 0 },
    { name: 'readPage', read: readPage, isOwn: isReplyError, accepted: 0 },
  ]

  it(`is decoded or rejected with an error of the library, ${INPUTS} times`, {
    timeout: nightly(300_000, 20_000),
  }, () => {
    const random = randomOf(SEED)
    const all = readers()
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0 // Most inputs are rejected, and stack traces are what makes errors expensive.
    try {
      for (let n = 0; n < INPUTS; n++) {
        const bytes = input(random)
        const reader = all[n % all.length]
        try {
          reader?.read(bytes)
          if (reader) reader.accepted++
        } catch (error) {
          if (reader?.isOwn(error)) continue
          const where = `input ${n} of SEED=${SEED}, ${JSON.stringify(toBinaryString(bytes))}`
          throw new Error(`${reader?.name} raised ${String(error)} for ${where}`, { cause: error })
        }
      }
    } finally {
      Error.stackTraceLimit = stackTraceLimit
    }
    const counts = all.map(({ name, accepted }) => `${name} ${accepted}`).join(', ')
    console.info(`${INPUTS} hostile inputs to ${all.length} readers, SEED=${SEED}; accepted: ${counts}`)
    // Inputs that a reader always rejects, probably at the first byte, would prove nothing.
    for (const { name, accepted } of all) expect(accepted, name).toBeGreaterThan(INPUTS / 1000)
  })
})
