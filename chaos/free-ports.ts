import { createServer } from 'node:net'
import { Random } from '../harness/random.js'

/** A store's ports. */
export interface Ports {
  readonly port: number
  readonly wsPort: number
}

/**
 * Returns free ports below the ephemeral range. With an ephemeral port, a client that connects to the store while it is
 * down could get the same port as its local port and connect to itself. The ports do not depend on a run's seed, so
 * that two runs with one seed can run at the same time.
 */
export async function findFreePorts(count: number): Promise<number[]> {
  const random = new Random(process.pid)
  const found: number[] = []
  for (let tries = 0; tries < 50 * count && found.length < count; tries++) {
    const port = random.int(20_000, 30_000)
    if (!found.includes(port) && (await isFree(port))) found.push(port)
  }
  if (found.length < count) throw new Error('Found no free port between 20000 and 30000')
  return found
}

/** Divides ports among stores. */
export const storePortsOf = (ports: readonly number[]): Ports[] =>
  Array.from({ length: ports.length / 2 }, (_, at) => ({ port: ports[2 * at] ?? 0, wsPort: ports[2 * at + 1] ?? 0 }))

const isFree = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
