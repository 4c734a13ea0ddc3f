import { serve } from 'rx-statestore/server'

/** A store in this process. The ports are chosen automatically, and a restart keeps them. */
export class OwnStore {
  #running

  /** @param {import('rx-statestore/server').StoreServer} running */
  constructor(running) {
    this.#running = running
    this.url = running.url
    this.wsUrl = running.wsUrl
  }

  static async start() {
    return new OwnStore(await serve({ port: 0, wsPort: 0 }))
  }

  async restart() {
    await this.#running.close()
    this.#running = await serve({ port: portOf(this.url), wsPort: portOf(this.wsUrl) })
  }

  close() {
    return this.#running.close()
  }
}

/** @param {string} url */
const portOf = url => Number(new URL(url).port)
