import { readdirSync, readFileSync } from 'node:fs'

/** Returns the number of open file descriptors, or `undefined` if the system does not report it. */
export const countOpenDescriptors = (): number | undefined => tryRead(() => readdirSync('/proc/self/fd').length - 1)

/** Returns the maximum number of open file descriptors, or `undefined` if there is none or it is unknown. */
export const maxOpenDescriptors = (
  read = (): string => readFileSync('/proc/self/limits', 'utf8'),
): number | undefined => {
  const soft = /^Max open files\s+(\d+)/m.exec(tryRead(read) ?? '')?.[1]
  return soft === undefined ? undefined : Number(soft)
}

export const warnOfDescriptors = (message: string): void =>
  process.emitWarning(message, { code: 'RX_STATESTORE_DESCRIPTORS' })

const MIN_RESERVE = 16
const MAX_RESERVE = 256

/**
 * Returns the number of connections for which the process has descriptors. Some are left for files and other
 * connections, because a process without descriptors closes new connections without a report.
 *
 * @param wanted - the configured maximum
 * @param warn - called if the maximum is lowered
 */
export function connectionsWithin(
  wanted: number,
  warn: (message: string) => void,
  [open = 0, max = Number.POSITIVE_INFINITY] = [countOpenDescriptors(), maxOpenDescriptors()],
): number {
  const reserve = Math.min(Math.max(max / 8, MIN_RESERVE), MAX_RESERVE)
  const possible = Math.max(1, Math.floor(max - open - reserve))
  if (possible >= wanted) return wanted
  warn(
    `the limit of ${max} open files allows ${possible} connections instead of ${wanted}: raise the limit ` +
      '(`ulimit -n`, `LimitNOFILE`), or lower `maxConnections`',
  )
  return possible
}

function tryRead<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
