import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { StateStoreError } from '../base/errors.js'
import { claimFiles } from './claim-files.js'
import { claim, lastClaim } from './claims.js'
import { LOCK } from './format.js'
import { makeDirectory } from './make-directory.js'
import { hasCode } from './system-error.js'

/** Directories that this process has. */
const OURS = new Set<string>()

/**
 * Takes a directory for this process; the returned function gives it back. Raises `in-use`, with the number of the process
 * that has it. A process that was killed leaves its lock behind, which is then of nobody.
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  await makeDirectory(directory)
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
  const own = `${process.pid} ${lifeOf(process.pid)} ${randomUUID()}\n`
  const other = await claim(claimFiles(directory), own, text => livingHolder(text, directory) !== undefined)
  if (other !== undefined) throw inUse(directory, livingHolder(other, directory) ?? 0)
}

/** The process that has a directory, if one has. */
export async function holderOf(directory: string): Promise<number | undefined> {
  const last = await lastClaim(claimFiles(directory))
  return last === undefined ? undefined : livingHolder(last, directory)
}

function livingHolder(text: string, directory: string): number | undefined {
  const [pid = '', life = ''] = text.trim().split(' ')
  const holder = Number(pid)
  // In a container each start may have the same number.
  if (holder === process.pid && !OURS.has(directory)) return undefined
  return isAlive(holder) && lifeOf(holder) === life ? holder : undefined
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
