import type { State } from '../../engine/state.js'
import { encodeState } from '../state-codec.js'
import type { Files } from './files.js'
import { fileOf, HEAD_SIZE, nameOf, newHead, UNFINISHED } from './format.js'
import { FRAME_HEADER, seal } from './frame.js'

/** Writes the state at a position, and removes what it replaces; returns its size, bytes. */
export async function writeState(files: Files, state: State, position: number): Promise<number> {
  const name = nameOf('state', position)
  const file = await files.create(name + UNFINISHED)
  const { head, salt } = newHead('state', position)
  let at = HEAD_SIZE
  try {
    await file.write(head, 0)
    let number = 0
    for (const block of encodeState(state, FRAME_HEADER)) {
      await file.write(seal(block, number++, salt), at)
      at += block.length
    }
    await file.flush()
  } catch (error) {
    await file.close()
    await files.remove(name + UNFINISHED)
    throw error
  }
  await file.close()
  await files.rename(name + UNFINISHED, name)
  await files.flush()
  await removeOlder(files, position)
  return at
}

async function removeOlder(files: Files, position: number): Promise<void> {
  for (const name of await files.list()) {
    const file = fileOf(name)
    if (file !== undefined && file.position < position) await files.remove(name)
  }
}
