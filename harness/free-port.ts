import { createSocket, type Socket } from 'node:dgram'
import { createServer } from 'node:net'

/** Returns a port that is free, also after a server has used it: see {@link claimPorts}. */
export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1)
  return port
}

/** Returns different free ports, which are claimed until this process ends: see {@link claimPorts}. */
export async function freePorts(count: number): Promise<number[]> {
  return [...(await claimPorts(count)).ports]
}

/** Ports that no other process of the specs and chaos runs chooses until they are released. */
export interface ClaimedPorts {
  readonly ports: readonly number[]
  release(): void
}

/**
 * Claims different free ports below the ephemeral ranges (32768 and above on Linux, 49152 and above elsewhere). The
 * system gives an ephemeral port that a server has left to any client that connects, which could even connect to itself.
 * So a server that listens again on its port after a restart needs a claimed port, never the port that 0 gave it.
 */
export async function claimPorts(count: number): Promise<ClaimedPorts> {
  const ports: number[] = []
  const claims: Socket[] = []
  for (let tries = 0; ports.length < count; tries++) {
    if (tries === PORTS)
      throw new Error(`Fewer than ${count} of the ports from ${FIRST} to ${FIRST + PORTS - 1} are free`)
    const port = FIRST + (next++ % PORTS)
    const claim = await claimPort(port)
    if (claim !== undefined && (await isFree(port))) {
      ports.push(port)
      claims.push(claim)
    } else claim?.close()
  }
  return {
    ports,
    release: () => {
      for (const claim of claims.splice(0)) claim.close()
    },
  }
}

const FIRST = 20_000
const PORTS = 12_000
/** Processes that run at the same time start at different ports. */
let next = (process.pid % 300) * 40

/** Returns a UDP socket with the port's number, which no TCP server notices, or `undefined` if the port is claimed. */
const claimPort = async (port: number): Promise<Socket | undefined> =>
  new Promise(resolve => {
    const socket = createSocket('udp4').unref()
    socket.once('error', () => {
      socket.close()
      resolve(undefined)
    })
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(socket))
  })

const isFree = async (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
