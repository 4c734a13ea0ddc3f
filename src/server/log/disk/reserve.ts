import { open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode, isFull } from './files.js'
import { LOCK_FILE } from './format.js'

/** A file named like a claim, so that earlier versions treat it as an abandoned claim. */
const RESERVE_FILE = `${LOCK_FILE}.reserve`
const BLOCK = new Uint8Array(4096)
const RESERVE_BLOCKS = 8

/**
 * Runs a task that needs little space in a directory, with the help of the reserve if the disk is full. Afterwards,
 * refills the reserve with the available space.
 */
export async function withReserve<T>(directory: string, task: () => Promise<T>): Promise<T> {
  const result = await retryWithReserve(directory, task)
  await refillReserve(directory)
  return result
}

/** Runs a task that needs little space. If the disk is full, removes the reserve and retries the task. */
export async function retryWithReserve<T>(directory: string, task: () => Promise<T>): Promise<T> {
  const path = join(directory, RESERVE_FILE)
  return task().catch(async error => {
    if (!isFull(error) || (await sizeOf(path)) === 0) throw error
    await rm(path, { force: true })
    return task()
  })
}

/** Fills the reserve with the available space. */
export async function refillReserve(directory: string): Promise<void> {
  const path = join(directory, RESERVE_FILE)
  try {
    const size = await sizeOf(path)
    if (size >= RESERVE_BLOCKS * BLOCK.length) return
    const file = await open(path, 'a', 0o600)
    try {
      for (let length = size; length < RESERVE_BLOCKS * BLOCK.length; length += BLOCK.length)
        await file.appendFile(BLOCK)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (!isFull(error)) throw error
  }
}

export const hasReserve = async (directory: string): Promise<boolean> =>
  (await sizeOf(join(directory, RESERVE_FILE))) > 0

export const removeReserve = async (directory: string): Promise<void> =>
  rm(join(directory, RESERVE_FILE), { force: true })

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 0
    throw error
  }
}
