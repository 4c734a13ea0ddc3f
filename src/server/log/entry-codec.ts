import { readHlc, writeHlc } from '../../core/hlc/hlc.js'
import { ByteReader, ByteWriter } from '../../core/util/byte-codec.js'
import {
  type EntryCommand,
  type LogEntry,
  type LoggedLoad,
  type LoggedWrite,
  parseWriteCommand,
  type RestoredRecord,
} from '../engine/entry.js'
import { damagedError } from './errors.js'

const KIND = { write: 1, load: 2, start: 3, expiry: 4 } as const
const FLAG = { volatile: 1, dup: 2, origin: 4, timestamp: 8, fencingToken: 16, owner: 32 } as const

/** Encodes an entry. Leaves `header` bytes at the beginning for the log that stores the entry. */
export function encodeEntry({ time, maxKeys, maxBytes, maxExpired, commands }: LogEntry, header = 0): Uint8Array {
  const writer = new ByteWriter(header + 64 + 256 * commands.length)
  for (let i = 0; i < header; i++) writer.uint8(0)
  writer.float64(time)
  writer.float64(maxKeys)
  writer.float64(maxBytes)
  writer.uint32(commands.length + (maxExpired === undefined ? 0 : 1))
  // Encoded like a command, so that an earlier version rejects the entry instead of expiring more keys.
  if (maxExpired !== undefined) {
    writer.uint8(KIND.expiry)
    writer.uint32(maxExpired)
  }
  for (const command of commands) encodeCommand(writer, command)
  return writer.done()
}

/** Decodes an entry into views of the bytes. Throws `damaged` if the bytes are not a valid entry. */
export function decodeEntry(bytes: Uint8Array): LogEntry {
  const reader = new ByteReader(bytes)
  const limits = { time: reader.float64(), maxKeys: reader.float64(), maxBytes: reader.float64() }
  let count = reader.uint32()
  const maxExpired = count > 0 && bytes[reader.offset] === KIND.expiry ? decodeMaxExpired(reader) : undefined
  if (maxExpired !== undefined) count--
  const commands = Array.from({ length: count }, () => decodeCommand(reader))
  if (!reader.isAtEnd) throw damagedError('an entry has bytes after its last command')
  return { ...limits, ...(maxExpired !== undefined && { maxExpired }), commands }
}

/** Yields the keys in an encoded entry. For damaged bytes, yields the readable keys and then throws `damaged`. */
export function* keysInEntry(bytes: Uint8Array): Generator<Uint8Array, void> {
  const reader = new ByteReader(bytes)
  for (let i = 0; i < 3; i++) reader.float64()
  for (let count = reader.uint32(); count > 0; count--) {
    const kind = reader.uint8()
    if (kind === KIND.write) {
      // The key comes first and may be intact even if the following bytes are damaged.
      const command = parseWriteCommand(new ByteReader(bytes, reader.offset + 1).blob())
      if (command !== undefined) yield command.key
      decodeWrite(reader)
    } else if (kind === KIND.load) {
      reader.uint8()
      for (let items = reader.uint32(); items > 0; items--) yield decodeItem(reader).key
    } else if (kind === KIND.expiry) reader.uint32()
  }
}

function encodeCommand(writer: ByteWriter, command: EntryCommand): void {
  writer.uint8(KIND[command.type])
  if (command.type === 'write') encodeWrite(writer, command)
  else if (command.type === 'load') encodeLoad(writer, command)
}

function decodeMaxExpired(reader: ByteReader): number {
  reader.uint8()
  return reader.uint32()
}

function decodeCommand(reader: ByteReader): EntryCommand {
  const kind = reader.uint8()
  if (kind === KIND.write) return decodeWrite(reader)
  if (kind === KIND.load) return decodeLoad(reader)
  if (kind === KIND.start) return { type: 'start' }
  throw damagedError(`an entry contains a command of unknown kind ${kind}`)
}

function encodeWrite(
  writer: ByteWriter,
  { payload, timestamp, fencingToken, origin, volatile, owner }: LoggedWrite,
): void {
  writer.uint8(
    (volatile ? FLAG.volatile : 0) |
      (origin?.dup ? FLAG.dup : 0) |
      (origin ? FLAG.origin : 0) |
      (timestamp === undefined ? 0 : FLAG.timestamp) |
      (fencingToken === undefined ? 0 : FLAG.fencingToken) |
      (owner === undefined ? 0 : FLAG.owner),
  )
  writer.blob(payload)
  if (timestamp !== undefined) writer.text(timestamp)
  if (fencingToken !== undefined) writer.text(fencingToken)
  if (owner !== undefined) {
    writer.text(owner.id)
    writer.float64(owner.maxKeys)
    writer.float64(owner.maxBytes)
  }
  if (origin === undefined) return
  writer.text(origin.clientId)
  writer.blob(origin.correlationData)
  writer.optional(origin.messageExpiry)
}

function decodeWrite(reader: ByteReader): LoggedWrite {
  const flags = reader.uint8()
  const payload = reader.blob()
  const command = parseWriteCommand(payload)
  if (command === undefined) throw damagedError('an entry contains a write whose command does not write')
  const timestamp = flags & FLAG.timestamp ? reader.text() : undefined
  const fencingToken = flags & FLAG.fencingToken ? reader.text() : undefined
  const owner = flags & FLAG.owner ? decodeOwner(reader) : undefined
  const dup = (flags & FLAG.dup) !== 0
  const origin = flags & FLAG.origin ? decodeOrigin(reader, dup) : undefined
  return {
    type: 'write',
    payload,
    timestamp,
    fencingToken,
    command,
    origin,
    volatile: flags & FLAG.volatile ? true : undefined,
    owner,
  }
}

const decodeOwner = (reader: ByteReader): LoggedWrite['owner'] => ({
  id: reader.text(),
  maxKeys: reader.float64(),
  maxBytes: reader.float64(),
})

const decodeOrigin = (reader: ByteReader, dup: boolean): LoggedWrite['origin'] => ({
  clientId: reader.text(),
  correlationData: reader.blob(),
  dup,
  messageExpiry: reader.optional(),
})

function encodeLoad(writer: ByteWriter, { items, replace }: LoggedLoad): void {
  writer.uint8(replace ? 1 : 0)
  writer.uint32(items.length)
  for (const { key, value, version, fencingToken, expiresAt, volatile } of items) {
    writer.blob(key)
    writer.blob(value)
    writeHlc(writer, version)
    writeHlc(writer, fencingToken)
    writer.optional(expiresAt)
    writer.uint8(volatile ? 1 : 0)
  }
}

function decodeLoad(reader: ByteReader): LoggedLoad {
  const replace = reader.uint8() === 1
  const items = Array.from({ length: reader.uint32() }, () => decodeItem(reader))
  return { type: 'load', items, replace }
}

const decodeItem = (reader: ByteReader): RestoredRecord => ({
  key: reader.blob(),
  value: reader.blob(),
  version: readHlc(reader),
  fencingToken: readHlc(reader),
  expiresAt: reader.optional(),
  volatile: reader.uint8() === 1 ? true : undefined,
})
