import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Authority } from '../../harness/certificates.js'
import { freePorts } from '../../harness/free-port.js'
import { natsServer } from '../../scripts/nats-server.js'
import { NatsServers } from '../cluster/nats.js'
import type { Resources } from '../resources.js'
import type { Run } from '../run.js'
import type { StoreOptions } from '../store-main.js'
import { storePortsOf } from '../store-ports.js'
import { StoreProcess } from '../store-process.js'

export interface Address {
  readonly url: string
  readonly port: number
}

/** The store under test: one process, or three nodes on three NATS servers. */
export interface StoreUnderTest {
  /** The addresses over TCP and WebSocket. Some or all of them use TLS. */
  readonly addresses: readonly Address[]
  /** The certificate authority of the addresses with TLS. */
  readonly ca: string
  /** Returns the sums of all processes of the store. */
  resources(): Promise<Resources>
  /** Returns the bytes on the disk, or `undefined` for a store in memory. */
  diskBytes(): number | undefined
  stop(): Promise<void>
}

const NODES = 3

const addressesOf = ({ port = 0, wsPort = 0, tls }: StoreOptions): Address[] => [
  { url: `${tls ? 'mqtts' : 'mqtt'}://127.0.0.1:${port}`, port },
  { url: `${tls ? 'wss' : 'ws'}://127.0.0.1:${wsPort}`, port: wsPort },
]

/** Starts one store that listens with TLS. @param data - its directory, or `undefined` for a store in memory */
export async function startStore(run: Run, data: string | undefined): Promise<StoreUnderTest> {
  const authority = new Authority('/CN=Soak')
  const [port = 0, wsPort = 0] = await freePorts(2)
  const options = { port, wsPort, tls: authority.issue('/CN=localhost'), ...(data !== undefined && { data }) }
  const store = new StoreProcess('the store', run, () => options)
  await store.start()
  return {
    addresses: addressesOf(options),
    ca: authority.cert,
    resources: async () => store.stats(),
    diskBytes: () => (data === undefined ? undefined : directoryBytes(data)),
    stop: async () => store.terminate(),
  }
}

/** Starts three nodes, the first of which listens with TLS. */
export async function startCluster(run: Run): Promise<StoreUnderTest> {
  const program = natsServer()
  if (program === undefined) throw new Error('There is no nats-server')
  const authority = new Authority('/CN=Soak')
  const ports = await freePorts(4 * NODES)
  const nats = new NatsServers(program, run, ports.splice(0, 2 * NODES))
  await nats.start()
  const servers = nats.ports.map(port => `nats://127.0.0.1:${port}`)
  const options = storePortsOf(ports).map((own, at) => ({
    ...own,
    log: { servers, name: 'soak', nodeId: `node-${at}` },
    ...(at === 0 && { tls: authority.issue('/CN=localhost') }),
  }))
  const nodes = options.map(own => new StoreProcess(own.log.nodeId, run, () => own))
  await Promise.all(nodes.map(async node => node.start()))
  return {
    addresses: options.flatMap(addressesOf),
    ca: authority.cert,
    resources: async () => sumOf(await Promise.all(nodes.map(async node => node.stats()))),
    diskBytes: () => nats.folders.reduce((sum, folder) => sum + directoryBytes(folder), 0),
    stop: async () => {
      await Promise.all(nodes.map(async node => node.terminate()))
      await nats.stop()
    },
  }
}

const sumOf = (all: readonly Resources[]): Resources => ({
  heap: all.reduce((sum, { heap }) => sum + heap, 0),
  external: all.reduce((sum, { external }) => sum + external, 0),
  rss: all.reduce((sum, { rss }) => sum + rss, 0),
  timers: all.reduce((sum, { timers }) => sum + timers, 0),
  handles: all.reduce((sum, { handles }) => sum + handles, 0),
})

/** Returns the bytes that the files of a directory occupy on the disk. */
function directoryBytes(directory: string): number {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true })
  return files
    .filter(file => file.isFile())
    .reduce((sum, { parentPath, name }) => sum + blocksOf(join(parentPath, name)), 0)
}

/** Returns a file's bytes, which may have been removed since it was listed. */
const blocksOf = (path: string) => 512 * (statSync(path, { throwIfNoEntry: false })?.blocks ?? 0)
