import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Link } from '../harness/link.js'
import { MOSQUITTO_CONFIGURATION } from '../harness/mosquitto-configuration.js'
import { ManagedProcess, startProgram } from './managed-process.js'
import type { Run } from './run.js'
import type { Ports } from './store-ports.js'
import type { StoreProcess } from './store-process.js'

export const hasMosquitto = () => spawnSync('mosquitto', ['-h']).error === undefined

/** Mosquitto, a store attached to it, and the link between them. */
export class AttachedStore {
  #broker
  #store
  #link
  #tally
  #random

  constructor(run: Run, { port, wsPort }: Ports, store: StoreProcess, link: Link) {
    const file = join(run.directory, 'mosquitto.conf')
    const listeners = [`listener ${port} 127.0.0.1`, `listener ${wsPort} 127.0.0.1`, 'protocol websockets']
    writeFileSync(file, [...listeners, ...MOSQUITTO_CONFIGURATION].join('\n'))
    this.#broker = new ManagedProcess(
      'Mosquitto',
      () => startProgram('mosquitto', ['-c', file], / running$/),
      what => run.violations.add('process', what),
    )
    this.#store = store
    this.#link = link
    this.#tally = run.tally
    this.#random = run.random.fork()
  }

  async start() {
    await Promise.all([this.#broker.start(), this.#store.start()])
  }

  /** Kills the broker, the store, or both. */
  async kill() {
    const dice = this.#random.next()
    const killed = [...(dice < 0.6 ? [this.#broker] : []), ...(dice > 0.3 ? [this.#store] : [])]
    for (const { name } of killed) this.#tally.add(`kills: ${name}`)
    await Promise.all(killed.map(each => each.kill()))
  }

  async terminate() {
    await Promise.all([this.#broker.terminate(), this.#store.terminate()])
    await this.#link.close()
  }
}
