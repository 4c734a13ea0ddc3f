import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

/** Returns a port that is free, also after a server has used it: see `freePorts`. */
export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1)
  return port
}

/**
 * Returns different free ports below the ephemeral ranges (32768 and above on Linux, 49152 and above elsewhere). The
 * system gives an ephemeral port that a server has left to any client that connects, which could even connect to itself.
 */
export async function freePorts(count: number): Promise<number[]> {
  const found: number[] = []
  for (let tries = 0; found.length < count; tries++) {
    if (tries === PORTS)
      throw new Error(`Fewer than ${count} of the ports from ${FIRST} to ${FIRST + PORTS - 1} are free`)
    const port = FIRST + (next++ % PORTS)
    if ((await claim(port)) && (await isFree(port))) found.push(port)
  }
  return found
}

const FIRST = 20_000
const PORTS = 12_000
/** Processes that run at the same time start at different ports. */
let next = (process.pid % 300) * 40

/**
 * Claims a port until this process ends, so that no other process of the specs chooses or probes it. The claim is a UDP
 * socket with the same number, which no TCP server notices. Returns whether the port was unclaimed.
 */
const claim = async (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = createSocket('udp4').unref()
    socket.once('error', () => {
      socket.close()
      resolve(false)
    })
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true))
  })

const isFree = async (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
