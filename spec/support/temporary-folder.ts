import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Gives all specs of a run one folder for what is temporary, and removes it behind them: nothing is left in the system's. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'rx-statestore-specs-'))
  // Mosquitto gives up root, and reads its files there.
  chmodSync(folder, 0o755)
  process.env['TMPDIR'] = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
}
