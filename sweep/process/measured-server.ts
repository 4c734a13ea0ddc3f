import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Answers, Question, ServerAddresses, ServerSettings } from './protocol.js'

/** The stack of the server in KiB, a fifth of the usual one: work that nests with its input soon exceeds it. */
const STACK_KIB = 200
const HEAP_MIB = 2_048
const MAX_OUTPUT = 4_000

/** A server in a process of its own, which may end, and whose work is measured apart from that of its clients. */
export class MeasuredServer {
  readonly addresses: ServerAddresses
  readonly #child: ChildProcess
  readonly #output: () => string

  private constructor(child: ChildProcess, output: () => string, addresses: ServerAddresses) {
    this.#child = child
    this.#output = output
    this.addresses = addresses
  }

  /** @param program - the bundled `server-process.ts` */
  static async start(program: string, settings: ServerSettings): Promise<MeasuredServer> {
    const flags = ['--expose-gc', `--max-old-space-size=${HEAP_MIB}`, `--stack-size=${STACK_KIB}`]
    const child = spawn(process.execPath, [...flags, program, JSON.stringify(settings)], {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      env: { PATH: process.env['PATH'] },
    })
    let output = ''
    child.stderr?.on('data', data => {
      output = (output + data).slice(-MAX_OUTPUT)
    })
    const { answer } = await messageOf(child, () => output)
    return new MeasuredServer(child, () => output, answer)
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** How the process has ended, with its output. */
  get end(): string {
    return endOf(this.#child, this.#output)
  }

  async ask<Q extends Question>(question: Q): Promise<Answers[Q]> {
    const message = messageOf(this.#child, this.#output)
    if (this.isRunning) this.#child.send(question)
    return (await message).answer
  }

  async stop(): Promise<void> {
    if (!this.isRunning) return
    const exit = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exit
  }
}

const endOf = ({ exitCode, signalCode }: ChildProcess, output: () => string): string =>
  `the server ended (${signalCode ?? exitCode}): ${output()}`

async function messageOf(child: ChildProcess, output: () => string) {
  const over = new AbortController()
  const { signal } = over
  const ended = async (): Promise<never> => {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit', { signal })
    throw new Error(endOf(child, output))
  }
  try {
    const [message] = await Promise.race([once(child, 'message', { signal }), ended()])
    return message
  } finally {
    over.abort()
  }
}
