/** Names a network connection while it is open: with TLS the socket above is another object than the one below. */
export const connectionName = ({ localPort, remoteAddress, remotePort }: ConnectionEnds): string =>
  `${localPort} ${remoteAddress} ${remotePort}`

/** Of a socket. */
export interface ConnectionEnds {
  readonly localPort?: number | undefined
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
}
