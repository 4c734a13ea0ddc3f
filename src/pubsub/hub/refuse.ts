import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Refusal } from './handshake.js'

/** Answers a WebSocket handshake with an HTTP error, and ends the connection. */
export function refuse(stream: Duplex, { status, text }: Refusal): void {
  const body = `${text}\n`
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  stream.once('finish', () => stream.destroy())
  stream.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
