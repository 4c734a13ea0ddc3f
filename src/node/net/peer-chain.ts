import { X509Certificate } from 'node:crypto'
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls'
import { systemClock } from '../../core/util/clock.js'

/** The certificate of a TLS client and its issuers. */
export interface PeerChain {
  /** Whether the chain ends at one of the authorities of client certificates. */
  readonly isTrusted: boolean
  readonly leaf: X509Certificate
  /** The issuers from the issuer of `leaf` up to the authority. An untrusted certificate has none. */
  readonly issuers: readonly X509Certificate[]
}

/** Maximum number of certificates in a chain, and of issuers that a client presents. OpenSSL accepts 100. */
const MAX_CHAIN_LENGTH = 10

/** The other end of a TLS connection. */
export class TlsPeer {
  readonly #socket: TLSSocket
  readonly #authorities: readonly X509Certificate[]

  /** @param authorities - authorities of client certificates at the time of the handshake */
  constructor(socket: TLSSocket, authorities: readonly X509Certificate[]) {
    this.#socket = socket
    this.#authorities = authorities
  }

  /** Returns the peer's chain, `undefined` if it sent no certificate, or `null` after the connection has closed. */
  readChain(): PeerChain | null | undefined {
    if (!this.#socket.authorized) {
      // An unknown client chooses the length of its chain, so only its first certificate is read.
      const [leaf] = readPresented(this.#socket.getPeerCertificate(false)) ?? [null]
      return leaf && { isTrusted: false, leaf, issuers: [] }
    }
    const presented = readPresented(this.#socket.getPeerCertificate(true))
    if (presented === undefined) return null
    const [leaf, ...others] = presented
    if (leaf === undefined) return undefined
    const issuers = findIssuers(leaf, others, this.#authorities)
    return { isTrusted: issuers !== undefined, leaf, issuers: issuers ?? [] }
  }
}

/**
 * Returns the presented certificates. Node links them by names and checks no signature, so only the first one is proved
 * by the handshake. Returns `undefined` after the connection has closed, when Node returns `null`, which its types omit.
 */
function readPresented(peer: Partial<DetailedPeerCertificate> | null): readonly X509Certificate[] | undefined {
  if (peer === null) return undefined
  const presented: X509Certificate[] = []
  const seen = new Set<object>()
  let next: Partial<DetailedPeerCertificate> | undefined = peer
  while (next?.raw !== undefined && !seen.has(next) && presented.length < MAX_CHAIN_LENGTH) {
    seen.add(next)
    presented.push(new X509Certificate(next.raw))
    next = next.issuerCertificate
  }
  return presented
}

/**
 * Returns the issuers of a certificate up to an authority, or `undefined` if no chain reaches one. Every issuer has
 * signed the certificate before it, because clients choose the names of the certificates that they present.
 *
 * OpenSSL has verified one chain only, including limits that an authority sets for the authorities below it. Therefore
 * no other way to an authority may count. OpenSSL prefers the known authorities, and then the first presented
 * certificate that may be the issuer, which is also the next one of `presented`.
 *
 * @param presented - certificates that the client presented, each followed by its issuer
 */
export function findIssuers(
  leaf: X509Certificate,
  presented: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): readonly X509Certificate[] | undefined {
  const issuers: X509Certificate[] = []
  const unproved = presented.slice()
  let isTrusted = authorities.some(({ raw }) => raw.equals(leaf.raw))
  for (let last = leaf; issuers.length < MAX_CHAIN_LENGTH; ) {
    if (isTrusted && last.checkIssued(last)) return issuers
    const authority = authorities.find(each => !issuers.includes(each) && hasIssued(each, last))
    if (authority === undefined && isTrusted) return issuers
    const issuer = authority ?? unproved.shift()
    if (issuer === undefined) return undefined
    if (authority === undefined && !(issuer.ca && isValidNow(issuer) && hasIssued(issuer, last))) return undefined
    isTrusted ||= authority !== undefined
    issuers.push(issuer)
    last = issuer
  }
  return undefined
}

function hasIssued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && isSignedBy(certificate, issuer)
}

function isSignedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.verify(issuer.publicKey)
  } catch {
    // Node does not know the kind of key.
    return false
  }
}

/** Uses the time of the system, as OpenSSL does in the handshake. */
function isValidNow({ validFrom, validTo }: X509Certificate): boolean {
  const now = systemClock.now()
  return Date.parse(validFrom) <= now && now <= Date.parse(validTo)
}
