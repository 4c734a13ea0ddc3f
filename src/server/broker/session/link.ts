import type { DetailedPeerCertificate } from 'node:tls'
import type { Room } from '../../../core/mqtt5/publish-encoder.js'

/** What TLS knows of a client. */
export interface SecureLink {
  /** Whether it has shown a certificate of an authority we trust. */
  readonly authorized: boolean
  /** With its issuers; an empty object when there is none, `null` when the connection is gone, which Node's types leave out. */
  getPeerCertificate(detailed: true): DetailedPeerCertificate | null
}

/** What a listener is called in the audit log. */
export function listenerName(transport: Link['transport'], secure: boolean): 'mqtt' | 'mqtts' | 'ws' | 'wss' {
  const plain = transport === 'tcp' ? 'mqtt' : 'ws'
  return secure ? `${plain}s` : plain
}

/** The network side of a connection. */
export interface Link {
  readonly remoteAddress: string | undefined
  readonly transport: 'tcp' | 'websocket'
  /** Over TLS. */
  readonly secure?: SecureLink | undefined
  /** What the network has not taken yet, bytes. */
  readonly unsentBytes: number
  /** What came and waits for more to come, and, when it is much, of what the network has not taken, bytes. */
  readonly heldBytes: number
  /** What else came and is not done with, or is written and not taken, bytes. */
  readonly transientBytes: number
  /** Memory for a piece that is to leave; it is to be filled at once. */
  readonly writeBuffer: Room
  /** Writes a piece; a large one is not copied, and is not to be changed any more. */
  write(piece: Uint8Array): void
  /** Whether a piece is so large that {@link write} does not copy it. */
  isLarge(piece: Uint8Array): boolean
  /** Lets what is written in this turn leave together with what is written when all is worked off that was read. */
  delayFlush(): void
  /** Goes on with what waits, in its turn: nothing may come over the network any more that would remind of it. */
  wake(): void
  /** Sends what is written, then ends the connection; what came is forgotten. */
  end(): void
  /** Ends the connection without a word, as a broken network does; nothing is held any more. */
  destroy(): void
}
