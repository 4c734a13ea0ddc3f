import { type ChildProcess, fork } from 'node:child_process'
import { on } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { ManagedProcess } from './managed-process.js'
import type { Run } from './run.js'
import type { StoreMessage, StoreOptions, StoreStats } from './store-main.js'

/** The time in ms that a node may take to start, which requires a log with a quorum and without faults on its links. */
const START_TIMEOUT_MS = 60_000
const RESPONSE_TIMEOUT_MS = 5_000
/**
 * The codes of errors with which a node may fail to start during an outage of the log. A supervisor would restart the
 * node.
 */
const OUTAGE_CODES = ['connection-lost', 'timeout']

type Host = Pick<Run, 'directory' | 'violations' | 'tally'>
type Failure = Extract<StoreMessage, { type: 'failed' }>

/** A store, or a node of a store, in a separate process. */
export class StoreProcess extends ManagedProcess {
  /** @param options - returns the options of the next start */
  constructor(name: string, host: Host, options: () => StoreOptions) {
    super(
      name,
      () => startStore(name, host, options),
      what => host.violations.add('process', what),
    )
  }

  async stats(): Promise<StoreStats> {
    const { name, child } = this
    if (child === undefined) throw new Error(`${name} is down`)
    const messages = on(child, 'message', { signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS), close: ['exit'] })
    child.send('stats')
    for await (const [message] of messages) if (message.type === 'stats') return message.stats
    throw new Error(`${name} ended before it reported its statistics`)
  }
}

async function startStore(name: string, host: Host, options: () => StoreOptions): Promise<ChildProcess> {
  const end = performance.now() + START_TIMEOUT_MS
  for (;;) {
    const started = await tryToStart(name, host, options())
    if (!('type' in started)) return started
    const { code, message } = started
    if (!OUTAGE_CODES.includes(code) || performance.now() > end)
      throw new Error(`${name} failed to start: ${code} ${message}`)
    host.tally.add('failed starts of nodes')
  }
}

function tryToStart(
  name: string,
  { directory, violations, tally }: Host,
  options: StoreOptions,
): Promise<ChildProcess | Failure> {
  const script = new URL('./store-main.js', import.meta.url)
  const child = fork(script, [JSON.stringify(options)], { execArgv: [], silent: true })
  const output = createWriteStream(join(directory, `${name}.log`), { flags: 'a' })
  child.stdout?.pipe(output, { end: false })
  child.stderr?.pipe(output, { end: false })
  return new Promise(resolve => {
    let failure: Failure = { type: 'failed', code: 'ended', message: `see ${name}.log` }
    child.on('message', (message: StoreMessage) => {
      output.write(`${new Date().toISOString()} ${JSON.stringify(message).slice(0, 2_000)}\n`)
      if (message.type === 'ready') resolve(child)
      if (message.type === 'storage' && message.state === 'waiting') tally.add('nodes that waited for the log')
      if (message.type === 'fault') violations.add('process', `${name} has a fault: ${message.message}`)
      if (message.type !== 'failed') return
      failure = message
      if (!OUTAGE_CODES.includes(message.code))
        violations.add('process', `${name} stopped: ${message.code} ${message.message}`)
    })
    child.once('close', () => {
      output.end()
      resolve(failure)
    })
  })
}
