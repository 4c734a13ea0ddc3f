// Whether the store in a container answers: anything it says on its WebSocket port, or its hanging up, will do, so that it
// works with TLS and users as well. HEALTH_PORT for another port.
import { connect } from 'node:net'

const end = code => process.exit(code)
const socket = connect(Number(process.env.HEALTH_PORT ?? 8083), '127.0.0.1', () =>
  socket.end('GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n'),
)
socket.once('data', () => end(0)).once('end', () => end(0))
socket.once('error', () => end(1))
setTimeout(() => end(1), 3_000)
