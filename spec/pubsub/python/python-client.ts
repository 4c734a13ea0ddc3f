import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { eventually } from '../../support/eventually.js'

const HERE = new URL('.', import.meta.url).pathname
const PACKAGES = new URL('../../../node_modules/.cache/pubsub-python', import.meta.url).pathname
const REQUIREMENTS = `${HERE}requirements.txt`

/** Installs the official client in the versions of requirements.txt, in a separate folder. */
export async function installPython(): Promise<void> {
  const stamp = `${PACKAGES}/.requirements.txt`
  const wanted = await readFile(REQUIREMENTS, 'utf8')
  if (existsSync(stamp) && (await readFile(stamp, 'utf8')) === wanted) return
  await rm(PACKAGES, { recursive: true, force: true })
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps']
  await promisify(execFile)('python3', [...pip, '--target', PACKAGES, '--requirement', REQUIREMENTS])
  await writeFile(stamp, wanted)
}

/** The official Python client in a child process, which ends with the test. */
export class PythonClient {
  /** The client's log: `connected ann`, `disconnected`, and group, type and data of messages as JSON text. */
  readonly log: string[] = []
  readonly #process: ChildProcess
  readonly #answers: string[] = []
  readonly #errors: string[] = []
  #calls = 0

  constructor(url: string) {
    this.#process = spawn('python3', [`${HERE}client.py`, url], {
      env: { ...process.env, PYTHONPATH: PACKAGES, PYTHONDONTWRITEBYTECODE: '1' },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#process.stderr?.on('data', data => this.#errors.push(String(data)))
    const { stdout } = this.#process
    if (stdout) createInterface(stdout).on('line', line => this.#take(line))
    onTestFinished(() => {
      this.#process.kill('SIGKILL')
    })
  }

  /** Calls a method of the client, and resolves with `done` or with the error's name. */
  async call(name: string, args: readonly unknown[] = [], options: object = {}): Promise<string> {
    const call = this.#calls++
    this.#process.stdin?.write(`${JSON.stringify([name, args, options])}\n`)
    await eventually(() => this.#answers.length > call || this.#process.exitCode !== null)
    return this.#answers[call] ?? `ended: ${this.#errors.join('')}`
  }

  /** Resolves with the log once it has this many lines. */
  async logged(count: number): Promise<readonly string[]> {
    await eventually(() => this.log.length >= count)
    return this.log
  }

  #take(line: string): void {
    const message: Readonly<Record<string, unknown>> = JSON.parse(line)
    if ('answer' in message) this.#answers.push(String(message['answer']))
    else if (message['event'] === 'connected') this.log.push(`connected ${message['user']}`)
    else if (message['event'] === 'disconnected') this.log.push('disconnected')
    // The text keeps the spelling of numbers, which Python supports in any size.
    else this.log.push(line.replace('{"event": "message", "group": ', '').replace(/}$/, ''))
  }
}
