import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The message if there is no NATS server. */
export const NO_NATS_SERVER = 'needs nats-server from 2.12: on the path, or named by the variable NATS_SERVER'

/**
 * Returns a command that runs a NATS server new enough for nodes, or `undefined` if there is none.
 *
 * @returns {string | undefined}
 */
export function natsServer() {
  // The gate installs the server at the second path; the version in Debian is too old.
  const candidates = [
    process.env['NATS_SERVER'] ?? 'nats-server',
    join(tmpdir(), 'rx-statestore-nats', 'bin', 'nats-server'),
    'nats-server',
  ]
  return candidates.find(candidate => {
    const { status, stdout } = spawnSync(candidate, ['--version'], { encoding: 'utf8' })
    const [, major = '0', minor = '0'] = /v(\d+)\.(\d+)/.exec(stdout ?? '') ?? []
    return status === 0 && (Number(major) > 2 || Number(minor) >= 12)
  })
}
