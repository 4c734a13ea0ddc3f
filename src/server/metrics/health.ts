import { reason } from '../../core/util/errors.js'
import type { AttachedStore } from '../attach/attached-store.js'
import type { StoreServer } from '../host/store-server.js'

/** The members of a store that metrics and health checks use. */
export type StoreWithBroker = Pick<
  StoreServer,
  | 'stats'
  | 'limits'
  | 'usage'
  | 'storage'
  | 'cluster'
  | 'drift'
  | 'isRejectingClocks'
  | 'isAccepting'
  | 'hasAccessControl'
  | 'loginProblem'
  | 'certificateExpiresAt'
  | 'frozenUntil'
  | 'startedAt'
>

export type StoreAtBroker = Pick<
  AttachedStore,
  'stats' | 'limits' | 'storage' | 'cluster' | 'drift' | 'isRejectingClocks' | 'state'
>

export type MonitoredStore = StoreWithBroker | StoreAtBroker

/** Returns whether a store serves through an external broker. */
export const isAttached = (store: MonitoredStore): store is StoreAtBroker => 'state' in store

/** `warn`: the component works, but an operator should act. */
export type HealthStatus = 'pass' | 'warn' | 'fail'

export interface ComponentHealth {
  readonly status: HealthStatus
  /** Why the status is not `pass`. */
  readonly output?: string
  readonly [detail: string]: unknown
}

/** A store's health, in the form of a response of type `application/health+json`. */
export interface Health {
  readonly status: HealthStatus
  readonly version: string
  readonly checks: Readonly<Record<'log' | 'replication' | 'memory' | 'clock', ComponentHealth>> & {
    /** Missing for a store at another broker. */
    readonly listener?: ComponentHealth
    /** Missing for a store at another broker, whose broker authenticates clients. */
    readonly logins?: ComponentHealth
    /** Only for a store at another broker. */
    readonly broker?: ComponentHealth
  }
}

/** The share of a memory limit above which a store is not ready, because it is about to reject requests. */
export const MEMORY_MARK = 0.95
/** The number of messages by which a ready node may lag. A node applies several thousand per second. */
const MAX_LAG = 1_000

export function healthOf(store: MonitoredStore, version: string): Health {
  const checks = {
    ...(isAttached(store)
      ? { broker: brokerHealth(store) }
      : { listener: listenerHealth(store), logins: loginHealth(store) }),
    log: logHealth(store),
    replication: replicationHealth(store),
    memory: memoryHealth(store),
    clock: clockHealth(store),
  }
  const all = Object.values(checks).map(({ status }) => status)
  return { status: all.includes('fail') ? 'fail' : all.includes('warn') ? 'warn' : 'pass', version, checks }
}

/** Returns the names of the components that fail. Without such components, a store is ready. */
export const failuresOf = ({ checks }: Health): readonly string[] =>
  Object.entries(checks).flatMap(([name, { status }]) => (status === 'fail' ? [name] : []))

function listenerHealth({ isAccepting, frozenUntil, stats: { connections } }: StoreWithBroker): ComponentHealth {
  if (isAccepting) return { status: 'pass', connections }
  return { status: 'fail', output: frozenUntil === undefined ? 'clients are not admitted' : 'frozen', connections }
}

/** Connected clients continue, and other methods may work, so the store stays ready. */
function loginHealth({ loginProblem: output }: StoreWithBroker): ComponentHealth {
  return output === undefined ? { status: 'pass' } : { status: 'warn', output }
}

/** A standby works, because it takes over when the active store stops. */
function brokerHealth({ state }: StoreAtBroker): ComponentHealth {
  if (state.state === 'serving' || state.state === 'standby') return { status: 'pass', state: state.state }
  const cause = 'cause' in state ? state.cause : undefined
  return { status: 'fail', state: state.state, output: cause === undefined ? state.state : reason(cause) }
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

function memoryHealth(store: MonitoredStore): ComponentHealth {
  const { stats, limits } = store
  let details: Readonly<Record<string, number>> = { bytes: stats.bytes, bytesLimit: limits.bytes }
  let used = stats.bytes / limits.bytes
  if (!isAttached(store)) {
    const {
      stats: { bufferedBytes },
      limits: { bufferedBytes: bufferedBytesLimit },
    } = store
    details = { ...details, bufferedBytes, bufferedBytesLimit }
    used = Math.max(used, bufferedBytes / bufferedBytesLimit)
  }
  if (used < MEMORY_MARK) return { status: 'pass', ...details }
  return { status: 'fail', output: `${Math.floor(100 * used)} % of the memory is used`, ...details }
}

function clockHealth({ drift, isRejectingClocks }: MonitoredStore): ComponentHealth {
  if (drift === 0) return { status: 'pass' }
  const behind = `the clock of this machine was set back: it is ${drift} ms behind the store's time`
  return isRejectingClocks
    ? { status: 'fail', output: `${behind}, and clients whose clocks are right are rejected`, drift }
    : { status: 'warn', output: behind, drift }
}
