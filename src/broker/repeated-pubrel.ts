import { replaceMethod } from './replace-method.js'

/** What the persistence in memory says of a packet that is gone. */
const GONE = 'no such packet'

/**
 * Keeps a client that sends PUBREL twice at once from ending the process: aedes deletes what it releases both times, and
 * nobody hears that the second time fails. It answers PUBCOMP either way.
 *
 * @param persistence - of aedes, one of whose methods is replaced
 */
export function forgiveRepeatedPubrel(persistence: object): void {
  replaceMethod(persistence, 'incomingDelPacket', remove => async (...packet: unknown[]) => {
    try {
      await remove(...packet)
    } catch (error) {
      if (!(error instanceof Error) || error.message !== GONE) throw error
    }
  })
}
