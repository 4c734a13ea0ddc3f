import { open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode, isFull } from './files.js'
import { LOCK } from './format.js'

/** Named as a claim, so that earlier versions take it for one that was left behind. */
const RESERVE = `${LOCK}.reserve`
const BLOCK = new Uint8Array(4096)
const BLOCKS = 8

/**
 * Does something that needs little room in a directory. A file of some blocks is kept there for that: on a full disk it is
 * removed first. As much of it as there is room for is made afterwards.
 */
export async function withReserve<T>(directory: string, task: () => Promise<T>): Promise<T> {
  const result = await fromReserve(directory, task)
  await keepReserve(directory)
  return result
}

/** Does something that needs little room, and removes the reserve if there is none. */
export async function fromReserve<T>(directory: string, task: () => Promise<T>): Promise<T> {
  const path = join(directory, RESERVE)
  return task().catch(async error => {
    if (!isFull(error) || (await sizeOf(path)) === 0) throw error
    await rm(path, { force: true })
    return task()
  })
}

/** Makes as much of the reserve as there is room for. */
export async function keepReserve(directory: string): Promise<void> {
  const path = join(directory, RESERVE)
  try {
    const size = await sizeOf(path)
    if (size >= BLOCKS * BLOCK.length) return
    const file = await open(path, 'a', 0o600)
    try {
      for (let length = size; length < BLOCKS * BLOCK.length; length += BLOCK.length) await file.appendFile(BLOCK)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (!isFull(error)) throw error
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 0
    throw error
  }
}
