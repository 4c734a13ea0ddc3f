import { BINARY, TEXT, webSocketFrame } from '../../../../harness/web-socket.js'
import { RawSocket } from '../../../support/raw-socket.js'

export const JSON_SUBPROTOCOL = 'json.reliable.webpubsub.azure.v1'
export const PROTOBUF_SUBPROTOCOL = 'protobuf.reliable.webpubsub.azure.v1'

export const jsonFrame = (frame: object | string): Buffer =>
  webSocketFrame(Buffer.from(typeof frame === 'string' ? frame : JSON.stringify(frame)), TEXT)

export const protobufFrame = (hex: string): Buffer =>
  webSocketFrame(Buffer.from(hex.replaceAll(' ', ''), 'hex'), BINARY)

/** Repeats a piece up to about `bytes` bytes. */
export const repeated = (piece: Buffer, bytes: number): Buffer =>
  Buffer.alloc(piece.length * Math.max(1, Math.floor(bytes / piece.length)), piece)

/** An attacker's login. */
export interface HubLogin {
  readonly user?: string
  /** Whether the attacker may join and send to all groups. */
  readonly mayAll?: boolean
  /** The value of `X-Forwarded-For`. */
  readonly address?: string
  readonly subprotocol?: string
  /** The `connectionId` and `token` of a session to recover. */
  readonly claim?: { readonly connectionId: string; readonly token: string }
}

/** Opens a WebSocket to a hub and waits for its first bytes. */
export async function attackHub(port: number, login: HubLogin = {}): Promise<RawSocket> {
  const { user, mayAll = false, address = '192.0.2.1', subprotocol = JSON_SUBPROTOCOL, claim } = login
  const query = new URLSearchParams({
    ...(user !== undefined && { user }),
    ...(mayAll && { may: 'all' }),
    ...(claim && { awps_connection_id: claim.connectionId, awps_reconnection_token: claim.token }),
  })
  const attacker = await RawSocket.open(`ws://127.0.0.1:${port}`)
  await attacker.send(
    Buffer.from(
      [
        `GET /client/hubs/chat?${query} HTTP/1.1`,
        'Host: hub.example',
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        `Sec-WebSocket-Protocol: ${subprotocol}`,
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        `X-Forwarded-For: ${address}`,
        '\r\n',
      ].join('\r\n'),
    ),
  )
  await attacker.hears()
  return attacker
}
