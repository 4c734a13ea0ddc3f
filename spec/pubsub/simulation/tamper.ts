import type { Socket, SocketHandlers } from '../../../src/pubsub/client/socket.js'
import type { ClientCodec, FrameData, HubCodec } from '../../../src/pubsub/wire/frames.js'
import { jsonClientCodec } from '../../../src/pubsub/wire/json-client-codec.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import { protobufClientCodec } from '../../../src/pubsub/wire/protobuf-client-codec.js'
import { protobufHubCodec } from '../../../src/pubsub/wire/protobuf-hub-codec.js'

/** Changes the sockets of one client, each between the client and the network. */
export type Tamper = (handlers: SocketHandlers) => readonly [SocketHandlers, (socket: Socket) => Socket]

/** More than the ids of one client. */
const OFFSET = 1_000_000n

/** A client that gives a message a new id each time it sends it, and knows all of them. */
export function newIdOnResend(): Tamper {
  const copies = new Map<bigint, bigint>()
  return handlers => {
    const message = (data: FrameData): void => {
      const { client, hub } = codecsOf(data)
      const frame = client.decode(data)
      const isAck = frame.type === 'ack'
      handlers.message(isAck ? hub.encode({ ...frame, ackId: frame.ackId % OFFSET }) : data)
    }
    const send = (socket: Socket, data: FrameData): void => {
      const { client, hub } = codecsOf(data)
      const frame = hub.decode(data)
      if (frame.type === 'unknown' || !('ackId' in frame) || frame.ackId === undefined) {
        socket.send(data)
        return
      }
      const copy = copies.get(frame.ackId) ?? 0n
      copies.set(frame.ackId, copy + 1n)
      socket.send(client.encode({ ...frame, ackId: frame.ackId + copy * OFFSET }))
    }
    const change = (socket: Socket): Socket => ({
      get bufferedAmount() {
        return socket.bufferedAmount
      },
      send: data => send(socket, data),
      close: code => socket.close(code),
      terminate: () => socket.terminate(),
    })
    return [{ ...handlers, message }, change]
  }
}

/** Whether a frame of a client is a request to leave a group. */
export const asksToLeave = (data: FrameData): boolean => codecsOf(data).hub.decode(data).type === 'leaveGroup'

const codecsOf = (data: FrameData): { readonly client: ClientCodec; readonly hub: HubCodec } =>
  typeof data === 'string'
    ? { client: jsonClientCodec, hub: jsonHubCodec }
    : { client: protobufClientCodec, hub: protobufHubCodec }
