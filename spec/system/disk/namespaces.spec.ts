import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { OWNER_TIMEOUT_MS } from '../../../src/server/log/disk/lock.js'
import { checkDirectory } from '../../../src/server/storage/directory.js'
import { bundle, type Program } from '../../support/bundle.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'

const NAMESPACE = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child']
const hasNamespaces = spawnSync('unshare', [...NAMESPACE.slice(1), 'true'], { stdio: 'ignore' }).status === 0
if (!hasNamespaces)
  console.info(
    'left out: stores in several pid namespaces (needs the right to unshare them); spec/disk/lock imitates them',
  )

let program: Program
beforeAll(async () => {
  program = await bundle(new URL('../crash/store-script.ts', import.meta.url))
})
afterAll(async () => program[Symbol.asyncDispose]())

interface StoreProcess {
  readonly url: string
  /** The pid of the store as seen from outside its namespace. */
  readonly pid: number
  readonly exited: Promise<unknown>
}

/**
 * Starts a store, in a separate pid namespace unless `outside` is given. Rejects with the output of the store if the
 * store ends early.
 */
async function start(data: string, pidNamespace: 'inside' | 'outside' = 'inside'): Promise<StoreProcess> {
  const [file = '', ...args] = [
    ...(pidNamespace === 'inside' ? NAMESPACE : []),
    process.execPath,
    program.path,
    data,
    '0',
  ]
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  let output = ''
  child.stderr.on('data', chunk => (output += chunk))
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', line => resolve(String(line).trim()))
    child.once('close', () => reject(new Error(output)))
  })
  return { url, pid: storePidOf(child), exited }
}

/** Returns the process forked by `unshare`, or the child itself. */
function storePidOf({ pid = 0 }: ChildProcess): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return children === '' ? pid : Number(children.split(' ')[0])
}

async function kill({ pid, exited }: StoreProcess): Promise<void> {
  process.kill(pid, 'SIGKILL')
  await exited
}

const set = async (client: StoreClient, key: string): Promise<string> =>
  (await client.request(command(`SET ${key} v`), { timestamp: `${Date.now()}:0:client` })).text

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'namespaces-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return join(path, 'state')
}

describe.runIf(hasNamespaces)('stores in several pid namespaces that use one directory', () => {
  it('only one store runs at a time, and a store that resumes after a suspension acknowledges nothing', {
    timeout: 90_000,
  }, async () => {
    const data = directory()
    const first = await start(data)
    const alice = await StoreClient.ready(first.url, 'alice')
    expect(await set(alice, 'a')).toBe('+OK\r\n')
    await expect(start(data)).rejects.toThrow(/the process 1 of another machine or container .* holds the directory/)
    await expect(start(data, 'outside')).rejects.toThrow(/of another machine or container/)
    expect(await set(alice, 'b')).toBe('+OK\r\n')

    process.kill(first.pid, 'SIGSTOP')
    const second = await start(data)
    const bob = await StoreClient.ready(second.url, 'bob')
    for (const key of ['c', 'd']) expect(await set(bob, key)).toBe('+OK\r\n')
    process.kill(first.pid, 'SIGCONT')
    // The store may respond with an error or disconnect its clients.
    const late = await Promise.race([set(alice, 'late'), alice.closed])
    expect(late).not.toBe('+OK\r\n')
    expect(await set(bob, 'e')).toBe('+OK\r\n')
    await kill(second)
    await kill(first)
    // A process in another namespace cannot detect the kill immediately.
    expect(await checkDirectory(data)).toMatchObject({ keys: 5 })
  })

  it('a store in the same namespace takes over immediately after another store is killed', {
    timeout: 60_000,
  }, async () => {
    const data = directory()
    const first = await start(data, 'outside')
    const alice = await StoreClient.ready(first.url, 'alice')
    expect(await set(alice, 'a')).toBe('+OK\r\n')
    await kill(first)
    const startedAt = performance.now()
    const second = await start(data, 'outside')
    expect(performance.now() - startedAt).toBeLessThan(OWNER_TIMEOUT_MS / 2)
    await kill(second)
    expect(await checkDirectory(data)).toMatchObject({ keys: 1 })
  })
})
