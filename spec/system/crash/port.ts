import { createServer } from 'node:net'

/**
 * Returns a free port below the ephemeral range. A client that connects to an ephemeral port while no process listens
 * there could get this port as its local port and connect to itself.
 *
 * @param random - in [0, 1)
 */
export async function freePort(random: () => number): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(10_000 * random())
    if (await isFree(port)) return port
  }
}

const isFree = async (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
