import { type ChildProcess, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LOCK_FILE } from '../../../src/server/log/disk/format.js'
import { OWNER_TIMEOUT_MS } from '../../../src/server/log/disk/owner.js'
import { checkDirectory } from '../../../src/server/storage/directory.js'
import { bundledProgram } from '../../support/bundle.js'
import { launch, type RunningProgram } from '../../support/running-program.js'
import { StoreClient } from '../../support/store-client.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { command } from '../../support/words.js'

const NAMESPACE = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child']
const hasNamespaces = spawnSync('unshare', [...NAMESPACE.slice(1), 'true'], { stdio: 'ignore' }).status === 0
if (!hasNamespaces)
  console.info(
    'left out: stores in several pid namespaces (needs the right to unshare them); spec/disk/lock imitates them',
  )

const program = bundledProgram(new URL('store-script.ts', import.meta.url))

interface StoreProcess {
  readonly url: string
  readonly program: RunningProgram
  /** The store's pid as seen from outside its namespace. */
  readonly pid: number
  /** The time in ms in which the store opened, without the start of its process. */
  readonly openingMs: number
}

/**
 * Starts a store, in a separate pid namespace unless `outside` is given. Rejects with the store's output if the
 * store ends early.
 */
async function start(data: string, pidNamespace: 'inside' | 'outside' = 'inside'): Promise<StoreProcess> {
  const command = [...(pidNamespace === 'inside' ? NAMESPACE : []), process.execPath, program(), data, '0']
  const [file = '', ...args] = command
  const store = launch(file, args)
  await store.line(/^opening$/)
  const began = performance.now()
  const url = await store.line(/^mqtt:/)
  return { url, program: store, pid: storePidOf(store.child), openingMs: performance.now() - began }
}

/** Returns the process forked by `unshare`, or the child itself. */
function storePidOf({ pid = 0 }: ChildProcess): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return children === '' ? pid : Number(children.split(' ')[0])
}

async function kill({ pid, program }: StoreProcess): Promise<void> {
  process.kill(pid, 'SIGKILL')
  await program.exit
}

const set = async (client: StoreClient, key: string): Promise<string> =>
  (await client.request(command(`SET ${key} v`), { timestamp: `${Date.now()}:0:client` })).text

const directory = (): string => join(temporaryFolder(), 'state')

describe.runIf(hasNamespaces)('stores in several pid namespaces that use one directory', () => {
  it('only one store runs at a time, and one that resumes acknowledges nothing', {
    timeout: 90_000,
  }, async () => {
    const data = directory()
    const first = await start(data)
    const alice = await StoreClient.ready(first.url, 'alice')
    expect(await set(alice, 'a')).toBe('+OK\r\n')
    await Promise.all([
      expect(start(data)).rejects.toThrow(/the process 1 of another machine or container .* holds the directory/),
      expect(start(data, 'outside')).rejects.toThrow(/of another machine or container/),
    ])
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
    // A process in another namespace cannot detect the kill immediately, so the lock is left out.
    const unlocked = directory()
    await cp(data, unlocked, { recursive: true, filter: path => !basename(path).startsWith(LOCK_FILE) })
    expect(await checkDirectory(unlocked)).toMatchObject({ keys: 5 })
  })

  it('a store in the same namespace takes over immediately after another store is killed', {
    timeout: 60_000,
  }, async () => {
    const data = directory()
    const first = await start(data, 'outside')
    const alice = await StoreClient.ready(first.url, 'alice')
    expect(await set(alice, 'a')).toBe('+OK\r\n')
    await kill(first)
    const second = await start(data, 'outside')
    expect(second.openingMs).toBeLessThan(OWNER_TIMEOUT_MS)
    await kill(second)
    expect(await checkDirectory(data)).toMatchObject({ keys: 1 })
  })
})
