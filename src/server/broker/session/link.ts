import type { WriteBuffer } from '../../../core/mqtt5/publish-encoder.js'
import type { TlsPeer } from '../../../node/net/peer-chain.js'

export function listenerName(transport: Link['transport'], secure: boolean): 'mqtt' | 'mqtts' | 'ws' | 'wss' {
  const plain = transport === 'tcp' ? 'mqtt' : 'ws'
  return secure ? `${plain}s` : plain
}

export interface Link {
  readonly remoteAddress: string | undefined
  readonly transport: 'tcp' | 'websocket'
  /** The TLS client, or `undefined` without TLS. */
  readonly secure?: Pick<TlsPeer, 'readChain'> | undefined
  /** The bytes that the network has not accepted yet. */
  readonly unsentBytes: number
  /**
   * The bytes that ending the connection frees: incomplete packets, and unsent data if it exceeds
   * `LIMIT.readPauseBytes`.
   */
  readonly heldBytes: number
  /** The bytes of other unprocessed or unsent data. */
  readonly transientBytes: number
  /** The memory for an outgoing packet. The caller must fill it synchronously. */
  readonly writeBuffer: WriteBuffer
  /** Queues bytes for sending. Large pieces are not copied, so the caller must not modify them afterwards. */
  write(piece: Uint8Array): void
  /** Returns whether {@link write} would queue the piece without a copy. */
  isLarge(piece: Uint8Array): boolean
  /** Postpones sending until all input of this event loop iteration has been processed. */
  delayFlush(): void
  /** Schedules the processing of queued packets, even if no further data arrives. */
  wake(): void
  /** Sends queued data, then closes the connection. Discards unprocessed input. */
  end(): void
  destroy(): void
}
