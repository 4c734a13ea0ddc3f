import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What to say when there is none. */
export const NO_NATS_SERVER = 'needs nats-server from 2.12: on the path, or named by the variable NATS_SERVER'

/** A command that runs a NATS server new enough for nodes; `undefined` when there is none. @returns {string | undefined} */
export function natsServer() {
  // The second one is where the gate puts it; Debian's is too old.
  const places = [
    process.env['NATS_SERVER'] ?? 'nats-server',
    join(tmpdir(), 'rx-statestore-nats', 'bin', 'nats-server'),
    'nats-server',
  ]
  return places.find(place => {
    const { status, stdout } = spawnSync(place, ['--version'], { encoding: 'utf8' })
    const [, major = '0', minor = '0'] = /v(\d+)\.(\d+)/.exec(stdout ?? '') ?? []
    return status === 0 && (Number(major) > 2 || Number(minor) >= 12)
  })
}
