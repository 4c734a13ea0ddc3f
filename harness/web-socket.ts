/** The HTTP request with which a client requests MQTT over WebSocket. */
export const UPGRADE = [
  'GET / HTTP/1.1',
  'Host: localhost',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Protocol: mqtt',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  '\r\n',
].join('\r\n')

/** The opcodes of WebSocket frames. */
export const TEXT = 1
export const BINARY = 2

/** Encodes a client's WebSocket frame, masked with zeros (RFC 6455, section 5.2). */
export function webSocketFrame(payload: Uint8Array | string, opcode = BINARY, isFinal = true): Buffer {
  const bytes = Buffer.from(payload)
  const { length } = bytes
  const head = Buffer.alloc(length < 126 ? 6 : length < 65_536 ? 8 : 14)
  head[0] = (isFinal ? 0x80 : 0) | opcode
  if (length < 126) head[1] = 0x80 | length
  else if (length < 65_536) {
    head[1] = 0xfe
    head.writeUInt16BE(length, 2)
  } else {
    head[1] = 0xff
    head.writeBigUInt64BE(BigInt(length), 2)
  }
  return Buffer.concat([head, bytes])
}
