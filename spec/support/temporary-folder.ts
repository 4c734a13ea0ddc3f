import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Creates one temporary folder for all specs of a run, and removes it at the end, with the bundled programs. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'rx-statestore-specs-'))
  // Mosquitto drops root privileges and reads its files in this folder.
  chmodSync(folder, 0o755)
  process.env['TMPDIR'] = folder
  return () => {
    for (const path of [folder, programFolder()])
      rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
}

/**
 * Returns the folder of the bundled programs of this run. It is neither outside this package nor below node_modules,
 * where a package cannot import itself by name.
 */
export const programFolder = (): string => join(ROOT, 'target', basename(tmpdir()))

/** Creates a folder, which is removed at the end of the run. */
export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'spec-'))
