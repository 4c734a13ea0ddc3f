import { createServer } from 'node:net'

/**
 * A free port below those that the system gives to outgoing connections: a client that dials it while nobody listens could
 * otherwise be given that very port as its own, and talk to itself.
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
