import { isObject } from '../../core/util/built-in-types.js'
import {
  type AckError,
  type ClientCodec,
  type DownFrame,
  type FrameData,
  type JsonWriter,
  readNumbered,
  type UnknownFrame,
  type UpFrame,
} from './frames.js'
import { toJson } from './json.js'
import { idMember, JSON_SUBPROTOCOL, JsonFrame, payloadMembers } from './json-frame.js'
import { checkedName } from './rules.js'

/**
 * The client's half of `json.reliable.webpubsub.azure.v1` (Azure Web PubSub, "Azure Web PubSub supported Reliable JSON
 * WebSocket subprotocol").
 *
 * - Ids are exact up to 2^64-1. Quoted ids are accepted, because some JSON writers quote 64-bit integers.
 * - A frame with an unknown `type`, `event`, `from` or `dataType` is an `unknown` frame, whose sequence id counts.
 * - An empty `userId`, `fromUserId` or `reconnectionToken` counts as absent, in the same way as null.
 * - The caller owns the bytes of a payload.
 *
 * `encode` throws {@link ArgumentError}, and `decode` throws {@link PayloadError}. See {@link ClientCodec}.
 *
 * @example
 * ```ts
 * // {"type":"joinGroup","group":"news","ackId":1}
 * jsonClientCodec.encode({ type: 'joinGroup', group: 'news', ackId: 1n })
 * ```
 */
export const jsonClientCodec: ClientCodec = { subprotocol: JSON_SUBPROTOCOL, encode, decode }

function encode(frame: UpFrame, jsonOf: JsonWriter = toJson): string {
  switch (frame.type) {
    case 'joinGroup':
    case 'leaveGroup':
      return `{"type":"${frame.type}"${nameMember('group', frame.group)}${idMember('ackId', frame.ackId)}}`
    case 'sendToGroup': {
      const noEcho = frame.noEcho ? ',"noEcho":true' : ''
      const head = `"type":"sendToGroup"${nameMember('group', frame.group)}${idMember('ackId', frame.ackId)}`
      return `{${head}${noEcho}${payloadMembers(frame.payload, jsonOf)}}`
    }
    case 'event': {
      const head = `"type":"event"${nameMember('event', frame.event)}${idMember('ackId', frame.ackId)}`
      return `{${head}${payloadMembers(frame.payload, jsonOf)}}`
    }
    case 'sequenceAck':
      return `{"type":"sequenceAck"${idMember('sequenceId', frame.sequenceId)}}`
    case 'ping':
      return '{"type":"ping"}'
  }
}

const nameMember = (name: string, value: string): string => `,"${name}":${JSON.stringify(checkedName(value))}`

function decode(data: FrameData): DownFrame | UnknownFrame {
  const frame = new JsonFrame(data)
  switch (frame.string('type')) {
    case 'ack':
      return ack(frame)
    case 'message':
      return message(frame)
    case 'system':
      return system(frame)
    case 'pong':
      return { type: 'pong' }
    default:
      return unknown(frame)
  }
}

function ack(frame: JsonFrame): DownFrame {
  const ackId = frame.id('ackId', true)
  const { success, error } = frame.members
  if (ackId === undefined) throw frame.fault('ackId is missing')
  if (typeof success !== 'boolean') throw frame.fault('success must be a boolean')
  return { type: 'ack', ackId, success, error: ackError(error) }
}

function ackError(error: unknown): AckError | undefined {
  if (!isObject(error)) return undefined
  return { name: stringOr('', error['name']), message: stringOr('', error['message']) }
}

function message(frame: JsonFrame): DownFrame | UnknownFrame {
  const sequenceId = frame.id('sequenceId', true)
  return readNumbered(sequenceId, () => {
    const { from, fromUserId } = frame.members
    if (from !== 'group' && from !== 'server') return { type: 'unknown', sequenceId }
    const payload = frame.payload()
    if (payload === undefined) return { type: 'unknown', sequenceId }
    if (from === 'server') return { type: 'serverMessage', payload, sequenceId }
    const group = frame.string('group')
    return { type: 'groupMessage', group, fromUserId: nonEmptyString(fromUserId), payload, sequenceId }
  })
}

function system(frame: JsonFrame): DownFrame | UnknownFrame {
  const { event, connectionId, userId, reconnectionToken, message } = frame.members
  if (event === 'disconnected') return { type: 'disconnected', reason: stringOr('', message) }
  if (event !== 'connected') return unknown(frame)
  const id = nonEmptyString(connectionId)
  if (id === undefined) throw frame.fault('connectionId is missing')
  return {
    type: 'connected',
    connectionId: id,
    userId: nonEmptyString(userId),
    reconnectionToken: nonEmptyString(reconnectionToken),
  }
}

const unknown = (frame: JsonFrame): UnknownFrame => ({ type: 'unknown', sequenceId: frame.id('sequenceId', true) })

const stringOr = (fallback: string, value: unknown): string => (typeof value === 'string' ? value : fallback)

const nonEmptyString = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
