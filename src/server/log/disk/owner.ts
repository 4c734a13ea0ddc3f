import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { StateStoreError } from '../../../core/util/errors.js'
import { hasCode } from './files.js'

/** The pid namespace of a running kernel, in which a pid identifies one process. `undefined` if unknown. */
export type PidNamespace = string | undefined

/** The process that made a claim. */
export interface Owner {
  readonly pid: number
  /**
   * An id that distinguishes the process from a later process with the same pid. `-` if the system does not provide it.
   */
  readonly startId: string
  /**
   * The pid namespace, or `-` if unknown. It is `undefined` in a claim of an earlier version, which supports only one
   * pid namespace.
   */
  readonly pidNamespace: string | undefined
  readonly host: string | undefined
  /** Whether the directory was taken from a silent owner that may still run. */
  readonly isForced: boolean
}

/** The state of a claim's owner. `unknown`: the owner runs in another pid namespace. */
export type Liveness = 'running' | 'ended' | 'unknown'

/** The time without a heartbeat after which an owner in another pid namespace is presumed dead. */
export const OWNER_TIMEOUT_MS = 10_000

/** The claims that this process holds. */
export const OWN_CLAIMS = new Set<string>()

export const lostError = (directory: string): StateStoreError =>
  new StateStoreError(
    'in-use',
    `another process has taken the directory ${directory}, or its lock was removed: this store must stop`,
  )

const UNKNOWN = '-'
const FORCED = 'forced'

/** Creates a unique claim text of this process. */
export const claimText = (pidNamespace: PidNamespace, isForced: boolean): string =>
  `${process.pid} ${readStartId(process.pid)} ${randomUUID()} ${pidNamespace ?? UNKNOWN} ${hostLabel()}${isForced ? ` ${FORCED}` : ''}\n`

const hostLabel = (): string => hostname().replaceAll(/\s/g, '_') || UNKNOWN

export function parseClaim(text: string): Owner {
  const [pid = '', startId = UNKNOWN, , pidNamespace, host, forced] = text.trim().split(' ')
  return { pid: Number(pid), startId, pidNamespace, host, isForced: forced === FORCED }
}

/**
 * Returns whether a claim's owner is running.
 *
 * @param ownClaims - claims that this process still holds
 */
export function livenessOf(text: string, pidNamespace: PidNamespace, ownClaims: ReadonlySet<string>): Liveness {
  const { pid, startId, ...owner } = parseClaim(text)
  if (owner.pidNamespace !== undefined && (owner.pidNamespace !== pidNamespace || owner.pidNamespace === UNKNOWN))
    return 'unknown'
  if (ownClaims.has(text)) return 'running'
  if (!isRunning(pid)) return 'ended'
  const found = readStartId(pid)
  const isKnown = startId !== UNKNOWN && found !== UNKNOWN
  // In a container, the process may have the same pid after every start.
  if (!isKnown) return pid === process.pid ? 'ended' : 'running'
  return found === startId ? 'running' : 'ended'
}

export function describeOwner(text: string, pidNamespace: PidNamespace): string {
  const { pid, host, ...owner } = parseClaim(text)
  const isElsewhere = owner.pidNamespace !== undefined && owner.pidNamespace !== pidNamespace
  return `the process ${pid}${isElsewhere ? ` of another machine or container (${host})` : ''}`
}

export function currentPidNamespace(): PidNamespace {
  if (process.platform !== 'linux') return `host:${hostLabel()}`
  const boot = tryRead(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim())
  const namespace = tryRead(() => readlinkSync('/proc/self/ns/pid'))
  return boot === undefined || namespace === undefined ? undefined : `${boot}/${namespace}`
}

function isRunning(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return hasCode(error, 'EPERM')
  }
}

function readStartId(pid: number): string {
  const startId = tryRead(() => {
    // A container may see the `/proc` of another pid namespace.
    if (readlinkSync('/proc/self') !== String(process.pid)) return undefined
    const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}:${fields.split(' ')[19]}`
  })
  return startId ?? UNKNOWN
}

/** Returns the result of reading a file, or `undefined` if the file does not exist or must not be read. */
function tryRead<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
