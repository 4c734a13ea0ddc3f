import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { hasCode } from './files.js'

/** Where a number names one process: a pid namespace of a running kernel. `undefined` where that cannot be found out. */
export type Place = string | undefined

/** The owner of a directory, as its claim says. */
export interface Owner {
  readonly pid: number
  /** Tells a process from a later one with the same number; `-` where the system does not say. */
  readonly life: string
  /** `undefined` in a claim of an earlier version, which counted on one pid namespace; `-` where it is not known. */
  readonly place: string | undefined
  readonly host: string | undefined
  /** The directory was taken from an owner that was silent, and may still run. */
  readonly isForced: boolean
}

/** Whether the owner of a claim runs; `unknown` for one in another place, whose process cannot be seen from here. */
export type Liveness = 'running' | 'ended' | 'unknown'

const UNKNOWN = '-'
const FORCED = 'forced'

/** The text of a claim of this process, which no other claim has. */
export const claimText = (place: Place, isForced: boolean): string =>
  `${process.pid} ${lifeOf(process.pid)} ${randomUUID()} ${place ?? UNKNOWN} ${hostWord()}${isForced ? ` ${FORCED}` : ''}\n`

const hostWord = (): string => hostname().replaceAll(/\s/g, '_') || UNKNOWN

/** The owner that a claim names. */
export function ownerOf(text: string): Owner {
  const [pid = '', life = UNKNOWN, , place, host, forced] = text.trim().split(' ')
  return { pid: Number(pid), life, place, host, isForced: forced === FORCED }
}

/** @param ours - claims of this process that it has not given back */
export function livenessOf(text: string, place: Place, ours: ReadonlySet<string>): Liveness {
  const { pid, life, ...owner } = ownerOf(text)
  if (owner.place !== undefined && (owner.place !== place || owner.place === UNKNOWN)) return 'unknown'
  if (ours.has(text)) return 'running'
  if (!isRunning(pid)) return 'ended'
  const found = lifeOf(pid)
  const isKnown = life !== UNKNOWN && found !== UNKNOWN
  // In a container each start may have the same number.
  if (!isKnown) return pid === process.pid ? 'ended' : 'running'
  return found === life ? 'running' : 'ended'
}

/** The owner of a claim in words. */
export function ownerWords(text: string, place: Place): string {
  const { pid, host, ...owner } = ownerOf(text)
  const isElsewhere = owner.place !== undefined && owner.place !== place
  return `the process ${pid}${isElsewhere ? ` of another machine or container (${host})` : ''}`
}

/** The place of this process. */
export function currentPlace(): Place {
  if (process.platform !== 'linux') return `host:${hostWord()}`
  const boot = unlessUnreadable(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim())
  const namespace = unlessUnreadable(() => readlinkSync('/proc/self/ns/pid'))
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

function lifeOf(pid: number): string {
  const life = unlessUnreadable(() => {
    // A container may have been given the /proc of another pid namespace.
    if (readlinkSync('/proc/self') !== String(process.pid)) return undefined
    const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}:${fields.split(' ')[19]}`
  })
  return life ?? UNKNOWN
}

/** What is not there, or not for us, says nothing. */
function unlessUnreadable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
