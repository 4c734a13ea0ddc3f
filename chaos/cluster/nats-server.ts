import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * The name of a NATS server that is new enough: that of `NATS_SERVER`, the one the gate fetches, as Debian's is too old, or
 * that of the path.
 */
export function natsServer(): string | undefined {
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
