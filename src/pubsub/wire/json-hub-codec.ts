import type { DownFrame, FrameData, HubCodec, Payload, UnknownFrame, UpFrame } from './frames.js'
import { nameProblem, nestingProblem, payloadProblem } from './hub-rules.js'
import { idMember, JSON_SUBPROTOCOL, JsonFrame, payloadMembers } from './json-frame.js'

/**
 * The hub's half of `json.reliable.webpubsub.azure.v1` (Azure Web PubSub, "Azure Web PubSub supported Reliable JSON
 * WebSocket subprotocol").
 *
 * - Ids are JSON numbers, exact up to 2^64-1; `"ackId":null` counts as absent.
 * - `"data":null` is a JSON value like any other. Microsoft's emulator refuses it from a client.
 * - Data of type protobuf is taken from clients too, as base64 of a `google.protobuf.Any`.
 * - Nesting is limited to {@link MAXIMUM_NESTING} levels.
 * - Bytes of a payload are the caller's own.
 *
 * `encode` raises {@link ArgumentError}, `decode` {@link PayloadError}, as {@link HubCodec} tells.
 *
 * @example
 * ```ts
 * jsonHubCodec.encode({ type: 'ack', ackId: 1n, success: true }) // {"type":"ack","ackId":1,"success":true}
 * ```
 */
export const jsonHubCodec: HubCodec = { subprotocol: JSON_SUBPROTOCOL, encode, decode }

function encode(frame: DownFrame): string {
  switch (frame.type) {
    case 'connected': {
      // Microsoft's emulator too writes null for nobody, which those can read that look for the member.
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
    case 'pong':
      return '{"type":"pong"}'
  }
}

const message = (from: string, sender: string, payload: Payload, sequenceId: bigint | undefined): string =>
  `{"type":"message","from":"${from}"${sender}${payloadMembers(payload)}${idMember('sequenceId', sequenceId)}}`

const textMember = (name: string, value: string | undefined): string =>
  value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`

function errorMember(error: { readonly name: string; readonly message: string } | undefined): string {
  if (error === undefined) return ''
  return `,"error":{"name":${JSON.stringify(error.name)}${textMember('message', error.message)}}`
}

function decode(data: FrameData): UpFrame | UnknownFrame {
  const frame = new JsonFrame(data)
  refuse(frame, nestingProblem(frame.text))
  const type = frame.string('type')
  const ackId = frame.id('ackId')
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

function name(frame: JsonFrame, what: 'group' | 'event'): string {
  refuse(frame, nameProblem(what, frame.members[what]))
  return frame.string(what)
}

function payload(frame: JsonFrame): Payload {
  const payload = frame.payload()
  if (payload === undefined) throw frame.fault('dataType must be json, text, binary or protobuf')
  refuse(frame, payloadProblem(payload))
  return payload
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

function refuse(frame: JsonFrame, problem: string | undefined): void {
  if (problem !== undefined) throw frame.fault(problem)
}
