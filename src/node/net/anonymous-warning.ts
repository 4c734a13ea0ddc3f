import type { Server } from 'node:net'
import { isThisMachine } from '../limits/network.js'

/** Hears in a sentence what an operator should know. */
export type Warn = (words: string) => void

/** A warning of the process, of code `RX_STATESTORE_ANONYMOUS`. */
export const warnProcess: Warn = words => process.emitWarning(words, { code: 'RX_STATESTORE_ANONYMOUS' })

/** Says that nobody is asked who it is. @param host - where that is */
export const warnAnonymous = (host: string, warn: Warn): void =>
  warn(`everybody who reaches ${host} is let in without being asked who it is`)

/**
 * Warns of a server that lets everybody in as soon as it listens beyond this machine. Returns a function that stops it.
 *
 * @example
 * ```ts
 * const stop = warnWhereOpen(server, words => console.warn(words))
 * ```
 */
export function warnWhereOpen(server: Server, warn: Warn): () => void {
  const look = (): void => {
    const address = server.address()
    if (address !== null && typeof address === 'object' && !isThisMachine(address.address))
      warnAnonymous(address.address, warn)
  }
  if (server.listening) look()
  else server.once('listening', look)
  return () => void server.off('listening', look)
}
