import type {
  AckError,
  DownFrame,
  FrameData,
  HubCodec,
  NewerCall,
  Payload,
  RefusedCall,
  UnknownFrame,
  UpFrame,
} from './frames.js'
import { JsonText, jsonOf, memberText, shallowMembers } from './json.js'
import { idMember, JSON_SUBPROTOCOL, JsonFrame, payloadMembers } from './json-frame.js'
import { nameProblem, payloadProblem } from './rules.js'

/**
 * The hub's half of `json.reliable.webpubsub.azure.v1` (Azure Web PubSub, "Azure Web PubSub supported Reliable JSON
 * WebSocket subprotocol").
 *
 * - Ids are JSON numbers, exact up to 2^64-1. `"ackId":null` counts as absent.
 * - Data of type json from clients becomes {@link JsonText}, character by character.
 * - `"data":null` is a valid JSON value, although Microsoft's emulator rejects it from a client.
 * - Data of type protobuf from clients is accepted as Base64 of a `google.protobuf.Any`.
 * - Nesting is limited to 512 levels.
 * - The caller owns the bytes of a payload.
 *
 * `encode` throws {@link ArgumentError}, and `decode` throws {@link PayloadError}. See {@link HubCodec}.
 *
 * @example
 * ```ts
 * // {"type":"ack","ackId":1,"success":true}
 * jsonHubCodec.encode({ type: 'ack', ackId: 1n, success: true })
 * ```
 */
export const jsonHubCodec: HubCodec = { subprotocol: JSON_SUBPROTOCOL, encode, decode }

function encode(frame: DownFrame | RefusedCall): string {
  switch (frame.type) {
    case 'connected': {
      // The `userId` of an anonymous user is null, as in Microsoft's emulator, because some clients require the member.
      const userId = JSON.stringify(frame.userId ?? null)
      const ids = `"userId":${userId}${textMember('connectionId', frame.connectionId)}`
      return `{"type":"system","event":"connected",${ids}${textMember('reconnectionToken', frame.reconnectionToken)}}`
    }
    case 'disconnected':
      return `{"type":"system","event":"disconnected"${textMember('message', frame.reason)}}`
    case 'ack':
      return `{"type":"ack"${idMember('ackId', frame.ackId)},"success":${frame.success}${errorMember(frame.error)}}`
    case 'groupMessage': {
      const sender = `${textMember('group', frame.group)}${textMember('fromUserId', frame.fromUserId)}`
      return message('group', sender, frame.payload, frame.sequenceId)
    }
    case 'serverMessage':
      return message('server', '', frame.payload, frame.sequenceId)
    case 'invokeResponse':
      return `{"type":"invokeResponse"${textMember('invocationId', frame.id)},"success":false${errorMember(frame.error)}}`
    case 'streamClosed':
      return `{"type":"streamClosed"${textMember('streamId', frame.id)}${errorMember(frame.error)}}`
    case 'pong':
      return '{"type":"pong"}'
  }
}

const message = (from: string, sender: string, payload: Payload, sequenceId: bigint | undefined): string =>
  `{"type":"message","from":"${from}"${sender}${payloadMembers(payload, jsonOf)}${idMember('sequenceId', sequenceId)}}`

const textMember = (name: string, value: string | undefined): string =>
  value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`

function errorMember(error: AckError | undefined): string {
  if (error === undefined) return ''
  return `,"error":{"name":${JSON.stringify(error.name)}${textMember('message', error.message)}}`
}

const MEMBERS: ReadonlySet<string> = new Set([
  ...['type', 'ackId', 'group', 'event', 'noEcho', 'dataType', 'data', 'sequenceId'],
  ...['stream', 'streamId', 'invocationId'],
])
const STREAM_MEMBERS: ReadonlySet<string> = new Set(['streamId'])

function decode(data: FrameData): UpFrame | NewerCall | UnknownFrame {
  const frame = new JsonFrame(data, text => shallowMembers(text, MEMBERS))
  const type = frame.string('type')
  const ackId = frame.id('ackId')
  const call = newerCall(frame, type, ackId)
  if (call !== undefined) return call
  switch (type) {
    case 'joinGroup':
    case 'leaveGroup':
      return { type, group: name(frame, 'group'), ackId }
    case 'sendToGroup':
      return { type, group: name(frame, 'group'), payload: payload(frame), noEcho: noEcho(frame), ackId }
    case 'event':
      return { type, event: name(frame, 'event'), payload: payload(frame), ackId }
    case 'sequenceAck':
      return { type, sequenceId: sequenceId(frame) }
    case 'ping':
      return { type }
    default:
      return { type: 'unknown' }
  }
}

const KNOWN_TYPES: readonly string[] = ['joinGroup', 'leaveGroup', 'sendToGroup', 'event', 'sequenceAck', 'ping']

/** Detects calls of newer clients, which are `invokeEvent`, `openGroupStream`, group states, and calls added later. */
function newerCall({ members }: JsonFrame, type: string, ackId: bigint | undefined): NewerCall | undefined {
  const { stream, streamId, invocationId } = members
  if (type === 'invoke' && typeof invocationId === 'string') return newerCallOf('invokeResponse', invocationId)
  if (type === 'streamData' || type === 'streamEnd') return streamCall(streamId)
  if (KNOWN_TYPES.includes(type)) return stream instanceof JsonText ? streamCall(streamIdOf(stream)) : undefined
  return ackId === undefined ? undefined : { type: 'newerCall', answer: 'ack', id: ackId }
}

const streamIdOf = ({ text }: JsonText): unknown =>
  text.startsWith('{') ? shallowMembers(text, STREAM_MEMBERS)['streamId'] : undefined

const streamCall = (id: unknown): NewerCall | undefined =>
  typeof id === 'string' ? newerCallOf('streamClosed', id) : undefined

const newerCallOf = (answer: 'invokeResponse' | 'streamClosed', id: string): NewerCall => ({
  type: 'newerCall',
  answer,
  id,
})

function name(frame: JsonFrame, what: 'group' | 'event'): string {
  throwIfInvalid(frame, nameProblem(what, frame.members[what]))
  return frame.string(what)
}

function payload(frame: JsonFrame): Payload {
  const payload = exactPayload(frame)
  if (payload === undefined) throw frame.fault('dataType must be json, text, binary or protobuf')
  throwIfInvalid(frame, payloadProblem(payload))
  return payload
}

/** Returns the payload. Data of type json is kept character by character. */
function exactPayload(frame: JsonFrame): Payload | undefined {
  const payload = frame.payload()
  if (payload?.dataType !== 'json' || payload.data instanceof JsonText) return payload
  const text = memberText(frame.text, 'data')
  return text === undefined ? payload : { dataType: 'json', data: new JsonText(text) }
}

function noEcho(frame: JsonFrame): boolean {
  const { noEcho = false } = frame.members
  if (typeof noEcho !== 'boolean') throw frame.fault('noEcho must be a boolean')
  return noEcho
}

function sequenceId(frame: JsonFrame): bigint {
  const id = frame.id('sequenceId')
  if (id === undefined) throw frame.fault('sequenceId is missing')
  return id
}

function throwIfInvalid(frame: JsonFrame, problem: string | undefined): void {
  if (problem !== undefined) throw frame.fault(problem)
}
