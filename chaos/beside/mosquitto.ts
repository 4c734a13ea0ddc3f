import type { ChildProcess } from 'node:child_process'
import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { end } from '../child.js'

const START_TIMEOUT = 10_000

/** Those of docs/any-broker.md; what it knows of sessions dies with it. */
const CONFIGURATION = [
  'allow_anonymous true',
  'set_tcp_nodelay true',
  'persistence false',
  'max_queued_messages 0',
  'max_inflight_messages 0',
  'log_dest stderr',
  'log_type information',
  'connection_messages false',
]

/** Whether there is a Mosquitto to be started. */
export const hasMosquitto = () => spawnSync('mosquitto', ['-h']).error === undefined

/** Eclipse Mosquitto, which is killed and started again on the same ports. */
export class Mosquitto {
  kills = 0
  #file
  #complain
  #child: ChildProcess | undefined

  /** @param file - for its configuration */
  constructor(file: string, { port, wsPort }: { port: number; wsPort: number }, complain: (what: string) => void) {
    this.#file = file
    this.#complain = complain
    const listeners = [`listener ${port} 127.0.0.1`, `listener ${wsPort} 127.0.0.1`, 'protocol websockets']
    writeFileSync(file, [...listeners, ...CONFIGURATION].join('\n'))
  }

  /** Settles when it listens. */
  start(): Promise<void> {
    const child = spawn('mosquitto', ['-c', this.#file], { stdio: ['ignore', 'ignore', 'pipe'] })
    this.#child = child
    const said: string[] = []
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`Mosquitto does not start: ${said.join('\n')}`)), START_TIMEOUT)
      child.once('error', reject)
      child.on('exit', (code, signal) => {
        clearTimeout(late)
        reject(new Error(`Mosquitto ended (${code}): ${said.join('\n')}`))
        if (child === this.#child) this.#complain(`Mosquitto ended by itself (code ${code}, signal ${signal})`)
      })
      createInterface({ input: child.stderr }).on('line', line => {
        if (said.length < 20) said.push(line)
        if (!/ running$/.test(line)) return
        clearTimeout(late)
        resolve()
      })
    })
  }

  async kill() {
    this.kills++
    await this.stop()
  }

  async stop() {
    const child = this.#child
    this.#child = undefined
    if (child) await end(child)
  }
}
