// Health check of a store in a container: succeeds with any response at the WebSocket port, or when the store closes the
// connection, so it also works with TLS and users. HEALTH_PORT sets the port.
import { connect } from 'node:net'

const end = code => process.exit(code)
const socket = connect(Number(process.env.HEALTH_PORT ?? 8083), '127.0.0.1', () =>
  socket.end('GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n'),
)
socket.once('data', () => end(0)).once('end', () => end(0))
socket.once('error', () => end(1))
setTimeout(() => end(1), 3_000)
