import type { Random } from '../../../../harness/random.js'
import { variable } from '../../../support/packets.js'

/** Significant bytes: range limits, wildcards, invalid UTF-8, lone surrogates and property identifiers. */
const TELLING = [
  0, 1, 2, 0x23, 0x2b, 0x2f, 0x24, 0x7f, 0x80, 0xc0, 0xed, 0xff, 0x0b, 0x11, 0x15, 0x16, 0x1f, 0x26,
] as const
const NUMBERS = [0, 1, 2, 127, 128, 255, 256, 16_383, 32_767, 32_768, 65_534, 65_535] as const

type Mutation = (random: Random, body: Buffer) => Buffer

const at = (random: Random, bytes: Buffer): number => random.int(0, Math.max(0, bytes.length - 1))

const changed = (body: Buffer, change: (copy: Buffer) => void): Buffer => {
  if (body.length === 0) return body
  const copy = Buffer.from(body)
  change(copy)
  return copy
}

const splice = (body: Buffer, from: number, count: number, ...between: readonly Buffer[]): Buffer =>
  Buffer.concat([body.subarray(0, from), ...between, body.subarray(from + count)])

const MUTATIONS: readonly [Mutation, ...Mutation[]] = [
  // Flips a bit.
  (random, body) =>
    changed(body, copy => {
      const place = at(random, copy)
      copy[place] = (copy[place] ?? 0) ^ (1 << random.int(0, 7))
    }),
  // Replaces, inserts or removes a byte.
  (random, body) =>
    changed(body, copy => {
      copy[at(random, copy)] = random.pick(TELLING)
    }),
  (random, body) => splice(body, at(random, body), 0, Buffer.of(random.pick(TELLING))),
  (random, body) => splice(body, at(random, body), 1),
  // Replaces a number, or repeats, removes or moves a field.
  (random, body) =>
    body.length < 2
      ? body
      : changed(body, copy => copy.writeUInt16BE(random.pick(NUMBERS), random.int(0, copy.length - 2))),
  (random, body) => {
    const [from, count] = [at(random, body), random.int(1, 40)]
    return splice(body, from, 0, body.subarray(from, from + count))
  },
  (random, body) => splice(body, at(random, body), random.int(1, 40)),
  (random, body) => splice(body, at(random, body), 0, body.subarray(at(random, body))),
  // Truncates or extends the packet.
  (random, body) => body.subarray(0, at(random, body)),
  (random, body) =>
    splice(body, at(random, body), 0, Buffer.alloc(random.pick([10, 1_000, 20_000]), random.pick(TELLING))),
]

/** Corrupts the fixed header: type, flags or length. */
function header(random: Random, first: number, body: Buffer): Buffer {
  const kind = random.int(1, 3)
  if (kind === 1) return Buffer.concat([Buffer.of(random.int(0, 255)), variable(body.length), body])
  if (kind === 2) return Buffer.concat([Buffer.of(first ^ (1 << random.int(0, 3))), variable(body.length), body])
  const length = random.pick([
    variable(random.pick(NUMBERS)),
    Buffer.of(0xff, 0xff, 0xff, 0x7f),
    Buffer.of(0x80, 0x80, 0x80, 0x80, 0x01),
  ])
  return Buffer.concat([Buffer.of(first), length, body])
}

export function mangle(random: Random, bytes: Buffer): Buffer {
  let mangled = bytes
  for (let times = random.pick([1, 1, 1, 2, 4]); times > 0; times--) mangled = random.pick(MUTATIONS)(random, mangled)
  return mangled
}

/** Returns a packet that is probably malformed, though its length is usually correct. */
export function mutate(random: Random, packet: Buffer): Buffer {
  let start = 1
  while (((packet[start] ?? 0) & 128) !== 0) start++
  const first = packet[0] ?? 0
  let body = packet.subarray(start + 1)
  if (random.chance(0.1)) return header(random, first, body)
  body = mangle(random, body)
  return Buffer.concat([Buffer.of(first), variable(body.length), body])
}

const isWord = (byte: number): boolean => byte >= 0x30 && byte <= 0x7a && (byte <= 0x39 || byte >= 0x61)
const LETTERS = Buffer.from('abcxyzANUES0123456789-_/ :*?[]\\\r\n.')

/** Changes letters and digits in a packet that stays well-formed, to reach the code behind the decoder. */
export function reword(random: Random, packet: Buffer): Buffer {
  const copy = Buffer.from(packet)
  for (let tries = random.int(2, 12); tries > 0; tries--) {
    const place = random.int(2, Math.max(2, copy.length - 1))
    if (isWord(copy[place] ?? 0)) copy[place] = LETTERS[random.int(0, LETTERS.length - 1)] ?? 0
  }
  return copy
}
