import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StateStoreError } from '../base/errors.js'
import { LOCK } from './format.js'

/** Directories that this process has. */
const OURS = new Set<string>()
const MODE = 0o600

/**
 * Takes a directory for this process; the returned function gives it back. Raises `in-use`, with the number of the process
 * that has it. A process that was killed leaves its lock behind, which is then of nobody.
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  if (OURS.has(directory)) throw inUse(directory, process.pid)
  OURS.add(directory)
  try {
    await take(directory)
  } catch (error) {
    OURS.delete(directory)
    throw error
  }
  return async () => {
    await rm(join(directory, LOCK), { force: true })
    OURS.delete(directory)
  }
}

async function take(directory: string): Promise<void> {
  const path = join(directory, LOCK)
  const own = `${process.pid} ${lifeOf(process.pid)}\n`
  for (;;) {
    try {
      await writeFile(path, own, { flag: 'wx', mode: MODE })
      return
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error
    }
    const holder = await holderOf(directory)
    if (holder !== undefined) throw inUse(directory, holder)
    await removeStale(path)
  }
}

/** The process that has a directory, if one has. */
export async function holderOf(directory: string): Promise<number | undefined> {
  try {
    const [pid = '', life = ''] = (await readFile(join(directory, LOCK), 'utf8')).trim().split(' ')
    const holder = Number(pid)
    // In a container each start may have the same number.
    if (holder === process.pid && !OURS.has(directory)) return undefined
    return isAlive(holder) && lifeOf(holder) === life ? holder : undefined
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Only one of several that find it takes it away. */
async function removeStale(path: string): Promise<void> {
  const aside = `${path}.${randomUUID()}.part`
  try {
    await rename(path, aside)
    await rm(aside)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return hasCode(error, 'EPERM')
  }
}

/** Tells a process from a later one with the same number, where the system says when it began. */
function lifeOf(pid: number): string {
  try {
    const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}:${fields.split(' ')[19]}`
  } catch {
    return '-'
  }
}

const inUse = (directory: string, pid: number): StateStoreError =>
  new StateStoreError('in-use', `the process ${pid} has the directory ${directory}`)

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code
