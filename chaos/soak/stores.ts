import { join } from 'node:path'
import { natsServer } from '../../scripts/nats-server.js'
import { Authority } from '../../spec/support/certificates.js'
import { NatsServers } from '../cluster/nats.js'
import { ManagedProcess, requestStats, startScript } from '../managed-process.js'
import type { Random } from '../random.js'
import { findFreePorts } from '../supervisor.js'
import { directoryBytes, type ProcessSample, sumOf } from './process-sample.js'
import type { StoreProcessOptions } from './store-process.js'

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
  sample(): Promise<ProcessSample>
  /** Returns the bytes on the disk, or `undefined` for a store in memory. */
  diskBytes(): number | undefined
  stop(): Promise<void>
}

type OnViolation = (what: string) => void

const storeProcess = (name: string, options: StoreProcessOptions, onViolation: OnViolation) =>
  new ManagedProcess(
    name,
    () => startScript(new URL('./store-process.js', import.meta.url), [JSON.stringify(options)]),
    onViolation,
  )

const addressesOf = ({ port, wsPort, tls }: StoreProcessOptions): Address[] => [
  { url: `${tls ? 'mqtts' : 'mqtt'}://127.0.0.1:${port}`, port },
  { url: `${tls ? 'wss' : 'ws'}://127.0.0.1:${wsPort}`, port: wsPort },
]

/** Starts one store that listens with TLS. @param data - its directory, or `undefined` for a store in memory */
export async function startStore(
  data: string | undefined,
  random: Random,
  onViolation: OnViolation,
): Promise<StoreUnderTest> {
  const authority = new Authority('/CN=Soak')
  const [port = 0, wsPort = 0] = await findFreePorts(random, 2)
  const options = { port, wsPort, tls: authority.issue('/CN=localhost'), ...(data !== undefined && { data }) }
  const store = storeProcess('the store', options, onViolation)
  await store.start()
  return {
    addresses: addressesOf(options),
    ca: authority.cert,
    sample: async () => requestStats<ProcessSample>(store),
    diskBytes: () => (data === undefined ? undefined : directoryBytes(data)),
    stop: async () => store.terminate(),
  }
}

/** Starts three nodes, the first of which listens with TLS. */
export async function startCluster(
  directory: string,
  random: Random,
  onViolation: OnViolation,
): Promise<StoreUnderTest> {
  const program = natsServer()
  if (program === undefined) throw new Error('There is no nats-server')
  const authority = new Authority('/CN=Soak')
  const ports = await findFreePorts(random, NatsServers.ports + 6)
  const nats = new NatsServers(program, join(directory, 'nats'), ports, onViolation, random)
  await nats.start()
  const servers = nats.ports.map(port => `nats://127.0.0.1:${port}`)
  const options = [0, 1, 2].map(at => ({
    port: ports[NatsServers.ports + 2 * at] ?? 0,
    wsPort: ports[NatsServers.ports + 2 * at + 1] ?? 0,
    node: { servers, name: 'soak', nodeId: `node-${at}` },
    ...(at === 0 && { tls: authority.issue('/CN=localhost') }),
  }))
  const nodes = options.map(each => storeProcess(each.node.nodeId, each, onViolation))
  await Promise.all(nodes.map(async node => node.start()))
  return {
    addresses: options.flatMap(addressesOf),
    ca: authority.cert,
    sample: async () => sumOf(await Promise.all(nodes.map(async node => requestStats<ProcessSample>(node)))),
    diskBytes: () => directoryBytes(join(directory, 'nats')),
    stop: async () => {
      await Promise.all(nodes.map(async node => node.terminate()))
      await nats.stop()
    },
  }
}
