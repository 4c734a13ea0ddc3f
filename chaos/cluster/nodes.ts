import type { Run } from '../run.js'
import type { Ports } from '../store-ports.js'
import { StoreProcess } from '../store-process.js'
import { Mesh } from './mesh.js'

/** Three nodes of a store, with links to the servers of their log. */
export class StoreNodes {
  readonly links
  readonly processes: readonly StoreProcess[]
  readonly addresses
  #servers: number[][] = []

  /** @param servers - ports of the servers */
  constructor(run: Run, name: string, addresses: readonly Ports[], servers: readonly number[]) {
    this.addresses = addresses
    this.links = new Mesh(addresses.length, servers, run.random.fork())
    this.processes = addresses.map((ports, at) => {
      const nodeId = `node-${at}`
      return new StoreProcess(nodeId, run, () => ({
        ...ports,
        log: { servers: this.#urlsOf(at), name, nodeId, stallTimeout: 4_000, connectTimeout: 15_000 },
      }))
    })
  }

  /** Starts the nodes. Resolves when all nodes are running. */
  async start() {
    this.#servers = await this.links.listen()
    await Promise.all(this.processes.map(node => node.start()))
  }

  stats() {
    return Promise.all(this.processes.map(node => node.stats()))
  }

  async stop() {
    await Promise.all(this.processes.map(node => node.terminate()))
    await this.links.close()
  }

  #urlsOf(at: number) {
    return (this.#servers[at] ?? []).map(port => `nats://127.0.0.1:${port}`)
  }
}
