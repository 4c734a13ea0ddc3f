import { reason } from '../../core/util/errors.js'
import type { StoreServer } from '../host/store-server.js'

/** The members of a store that metrics and health checks use. */
export type MonitoredStore = Pick<
  StoreServer,
  | 'stats'
  | 'limits'
  | 'usage'
  | 'storage'
  | 'cluster'
  | 'drift'
  | 'isAccepting'
  | 'hasAccessControl'
  | 'frozenUntil'
  | 'startedAt'
>

/** `warn`: the component works, but an operator should act. */
export type HealthStatus = 'pass' | 'warn' | 'fail'

export interface ComponentHealth {
  readonly status: HealthStatus
  /** Why the status is not `pass`. */
  readonly output?: string
  readonly [detail: string]: unknown
}

/** The health of a store, in the form of a response of type `application/health+json`. */
export interface Health {
  readonly status: HealthStatus
  readonly version: string
  readonly checks: Readonly<Record<'listener' | 'log' | 'replication' | 'memory' | 'clock', ComponentHealth>>
}

/** The share of a memory limit above which a store is not ready, because it is about to reject requests. */
export const MEMORY_MARK = 0.95
/** The number of messages by which a ready node may lag. A node applies several thousand per second. */
const MAX_LAG = 1_000

export function healthOf(store: MonitoredStore, version: string): Health {
  const checks = {
    listener: listenerHealth(store),
    log: logHealth(store),
    replication: replicationHealth(store),
    memory: memoryHealth(store),
    clock: clockHealth(store),
  }
  const all = Object.values(checks).map(({ status }) => status)
  return { status: all.includes('fail') ? 'fail' : all.includes('warn') ? 'warn' : 'pass', version, checks }
}

/** Returns the names of the components that fail. A store is ready if there are none. */
export const failuresOf = ({ checks }: Health): readonly string[] =>
  Object.entries(checks).flatMap(([name, { status }]) => (status === 'fail' ? [name] : []))

function listenerHealth({ isAccepting, frozenUntil, stats: { connections } }: MonitoredStore): ComponentHealth {
  if (isAccepting) return { status: 'pass', connections }
  return { status: 'fail', output: frozenUntil === undefined ? 'clients are not admitted' : 'frozen', connections }
}

function logHealth({ storage: { state, error } }: MonitoredStore): ComponentHealth {
  if (state === 'kept') return { status: 'pass', state }
  // On a full disk, reads, watches and deletes continue. A degraded log accepts writes.
  const status = state === 'full' || state === 'degraded' ? 'warn' : 'fail'
  return { status, state, output: error === undefined ? state : reason(error) }
}

function replicationHealth({ cluster }: MonitoredStore): ComponentHealth {
  if (cluster === undefined) return { status: 'pass' }
  const { lag, position, nodeId: node } = cluster
  if (lag <= MAX_LAG) return { status: 'pass', node, position, lag }
  return { status: 'fail', node, position, lag, output: `${lag} messages of the log are not applied yet` }
}

function memoryHealth({ stats, limits }: MonitoredStore): ComponentHealth {
  const { bytes, bufferedBytes } = stats
  const details = { bytes, bytesLimit: limits.bytes, bufferedBytes, bufferedBytesLimit: limits.bufferedBytes }
  const used = Math.max(bytes / limits.bytes, bufferedBytes / limits.bufferedBytes)
  if (used < MEMORY_MARK) return { status: 'pass', ...details }
  return { status: 'fail', output: `${Math.floor(100 * used)} % of the memory is used`, ...details }
}

function clockHealth({ drift }: MonitoredStore): ComponentHealth {
  return drift === 0
    ? { status: 'pass' }
    : { status: 'warn', output: `versions are ${drift} ms ahead of the clock, which was set back`, drift }
}
