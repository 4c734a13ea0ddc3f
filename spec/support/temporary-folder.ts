import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Creates one temporary folder for all specs of a run, and removes it at the end. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'rx-statestore-specs-'))
  // Mosquitto drops root privileges and reads its files in this folder.
  chmodSync(folder, 0o755)
  process.env['TMPDIR'] = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
}

/** Creates a folder, which is removed at the end of the run. */
export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'spec-'))
