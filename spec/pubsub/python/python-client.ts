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

/** Installs the official client, in the versions of requirements.txt, in a folder of its own. */
export async function installPython(): Promise<void> {
  const stamp = `${PACKAGES}/.requirements.txt`
  const wanted = await readFile(REQUIREMENTS, 'utf8')
  if (existsSync(stamp) && (await readFile(stamp, 'utf8')) === wanted) return
  await rm(PACKAGES, { recursive: true, force: true })
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps']
  await promisify(execFile)('python3', [...pip, '--target', PACKAGES, '--requirement', REQUIREMENTS])
  await writeFile(stamp, wanted)
}

/** The official Python client in a process of its own, ended with the test. */
export class PythonClient {
  /** What it told: `connected ann`, `disconnected`, and of messages group, type and data, as JSON text. */
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

  /** Settles with `done`, or with the name of the error. */
  async call(name: string, args: readonly unknown[] = [], options: object = {}): Promise<string> {
    const call = this.#calls++
    this.#process.stdin?.write(`${JSON.stringify([name, args, options])}\n`)
    await eventually(() => this.#answers.length > call || this.#process.exitCode !== null)
    return this.#answers[call] ?? `ended: ${this.#errors.join('')}`
  }

  /** The log, once it has so many lines. */
  async told(count: number): Promise<readonly string[]> {
    await eventually(() => this.log.length >= count)
    return this.log
  }

  #take(line: string): void {
    const told: Readonly<Record<string, unknown>> = JSON.parse(line)
    if ('answer' in told) this.#answers.push(String(told['answer']))
    else if (told['event'] === 'connected') this.log.push(`connected ${told['user']}`)
    else if (told['event'] === 'disconnected') this.log.push('disconnected')
    // Numbers as Python has them, of any size, stay as they are written.
    else this.log.push(line.replace('{"event": "message", "group": ', '').replace(/}$/, ''))
  }
}
