import { connect, createServer } from 'node:net'

/**
 * Lays a network cable between a client and a server: a TCP proxy that can be cut.
 *
 * @param {number} port - port of the server
 */
export async function layLink(port) {
  let cut = false
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  const server = createServer({ noDelay: true }, near => {
    if (cut) {
      near.destroy()
      return
    }
    const far = connect({ host: '127.0.0.1', port, noDelay: true })
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket))
    }
    near.pipe(far).pipe(near)
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const address = server.address()
  const ownPort = typeof address === 'object' ? (address?.port ?? 0) : 0
  const cutNow = () => {
    cut = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: ownPort,
    url: `mqtt://127.0.0.1:${ownPort}`,
    cut: cutNow,
    restore: () => {
      cut = false
    },
    close: () => {
      cutNow()
      return new Promise(resolve => server.close(resolve))
    },
  }
}
