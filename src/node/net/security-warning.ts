import type { Server } from 'node:net'
import { callSubscriber } from '../../core/diagnostics/subscriber-error.js'
import { isThisMachine } from '../limits/network.js'

export type Warn = (message: string) => void

/** Emits a process warning with the code `RX_STATESTORE_SECURITY`. */
export const warnProcess: Warn = message => process.emitWarning(message, { code: 'RX_STATESTORE_SECURITY' })

export const warnAnonymous = (host: string, warn: Warn): void => warn(`anonymous clients on ${host} have full access`)

/**
 * Warns as soon as a server with anonymous access listens beyond loopback. Returns a function that cancels the warning.
 *
 * @example
 * ```ts
 * const stop = warnIfExposed(server, words => console.warn(words))
 * ```
 */
export function warnIfExposed(server: Server, warn: Warn): () => void {
  const checkAddress = (): void => {
    const address = server.address()
    if (address !== null && typeof address === 'object' && !isThisMachine(address.address))
      warnAnonymous(address.address, warn)
  }
  const onListening = (): void => callSubscriber(checkAddress)
  if (server.listening) checkAddress()
  else server.once('listening', onListening)
  return () => void server.off('listening', onListening)
}
