import type { DetailedPeerCertificate } from 'node:tls'
import type { WriteBuffer } from '../../../core/mqtt5/publish-encoder.js'

export interface SecureLink {
  /** Whether the client presented a certificate of a trusted authority. */
  readonly authorized: boolean
  /**
   * Includes the issuers. `{}` without a certificate; `null` after the connection has closed, which Node's types omit.
   */
  getPeerCertificate(detailed: true): DetailedPeerCertificate | null
}

export function listenerName(transport: Link['transport'], secure: boolean): 'mqtt' | 'mqtts' | 'ws' | 'wss' {
  const plain = transport === 'tcp' ? 'mqtt' : 'ws'
  return secure ? `${plain}s` : plain
}

export interface Link {
  readonly remoteAddress: string | undefined
  readonly transport: 'tcp' | 'websocket'
  readonly secure?: SecureLink | undefined
  /** Not accepted by the network. */
  readonly unsentBytes: number
  /** Freed by ending the connection: incomplete packets, and unsent data if it exceeds `LIMIT.readPauseBytes`. */
  readonly heldBytes: number
  /** Other unprocessed or unsent data. */
  readonly transientBytes: number
  /** Memory for an outgoing packet, which must be filled synchronously. */
  readonly writeBuffer: WriteBuffer
  /** Queues bytes for sending. Large pieces are not copied and must not be modified afterwards. */
  write(piece: Uint8Array): void
  /** Whether {@link write} does not copy the piece. */
  isLarge(piece: Uint8Array): boolean
  /** Postpones sending until all input of this event loop iteration has been processed. */
  delayFlush(): void
  /** Schedules the processing of queued packets, even if no further data arrives. */
  wake(): void
  /** Sends queued data, then closes the connection. Unprocessed input is discarded. */
  end(): void
  destroy(): void
}
