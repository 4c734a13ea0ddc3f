import type { DetailedPeerCertificate, PeerCertificate } from 'node:tls'
import { ArgumentError } from '../../core/util/errors.js'
import type { ClientCertificate, LoginRequest, LoginResult, Method, ProofOf, SubjectName } from './login.js'

/** Attributes for clients whose certificate, or one of its issuers, has this subject. */
export interface CertificateAttributes {
  /** For example `CN = Contoso Root CA Cert, OU = Engineering, C = US`. A comma within a value is escaped as `\,`. */
  readonly subject: string
  readonly attributes: Readonly<Record<string, string>>
}

const MAX_CHAIN_LENGTH = 10

/**
 * Accepts clients with a certificate from a trusted authority. The common name (CN) becomes the user name. The client
 * gets the attributes of the first subject in its chain that matches, starting with its own certificate. The connection
 * expires with the certificate. Throws {@link ArgumentError} for an invalid subject.
 *
 * @example
 * ```ts
 * certificates([
 *   {
 *     subject: 'CN = Contoso Root CA Cert, OU = Engineering, C = US',
 *     attributes: { organization: 'contoso' },
 *   },
 * ])
 * ```
 */
export function certificates(known: readonly CertificateAttributes[] = []): Method {
  const bySubject = new Map(known.map(({ subject, attributes }) => [subjectKey(parseSubject(subject)), attributes]))
  const method = ({ certificate }: LoginRequest): LoginResult | undefined => {
    if (certificate === undefined) return undefined
    const { trusted, subjects, commonNames, validTo: expiresAt } = certificate
    const [own] = subjects
    if (!trusted || own === undefined)
      return { refused: 'not-authorized', reason: 'the certificate is not signed by a trusted authority' }
    // Otherwise all certificates without a subject would be the same principal.
    if (own.length === 0) return { refused: 'not-authorized', reason: 'the certificate has no subject' }
    const attributes = subjects.map(subject => bySubject.get(subjectKey(subject))).find(found => found !== undefined)
    const [username] = commonNames.length === 1 ? commonNames : []
    return { principal: { id: `x509 ${subjectKey(own)}`, username, attributes, expiresAt } }
  }
  const proofOf: ProofOf = ({ certificate }) => (certificate === undefined ? undefined : 'verifiable')
  return Object.assign(method, { proofOf })
}

const subjectKey = (subject: SubjectName): string => JSON.stringify(subject)

/** Returns the certificate chain of a TLS peer, or `undefined` if the client sent no certificate. */
export function readCertificate(peer: DetailedPeerCertificate, trusted: boolean): ClientCertificate | undefined {
  // Node represents a missing certificate as an empty object.
  if (!('raw' in peer)) return undefined
  const subjects: SubjectName[] = []
  const seen = new Set<PeerCertificate>()
  for (let next = peer; 'subject' in next && !seen.has(next) && subjects.length < MAX_CHAIN_LENGTH; ) {
    seen.add(next)
    subjects.push(subjectNameOf(next))
    if (!('issuerCertificate' in next) || next.issuerCertificate === undefined) break
    next = next.issuerCertificate
  }
  return {
    trusted,
    subjects,
    commonNames: [peer.subject.CN ?? []].flat(),
    fingerprint: peer.fingerprint256,
    validTo: Date.parse(peer.valid_to),
  }
}

function subjectNameOf({ subject }: PeerCertificate): SubjectName {
  const parts: [string, string | string[] | undefined][] = Object.entries(subject)
  return parts.flatMap(([type, values]) => [values ?? []].flat().map(value => `${type}=${value}`)).sort()
}

/** Parses a subject in AIO's notation. Throws {@link ArgumentError} for an invalid subject. */
export function parseSubject(text: string): SubjectName {
  return text
    .split(/(?<!\\),/)
    .map(part => {
      const [, type, value] = /^\s*([A-Za-z][A-Za-z0-9.]*)\s*=\s*(.+?)\s*$/s.exec(part) ?? []
      if (type === undefined || value === undefined)
        throw new ArgumentError(`Expected a subject such as \`CN = panel, O = contoso\`, got \`${text.slice(0, 80)}\``)
      return `${type}=${value.replace(/\\(.)/g, '$1')}`
    })
    .sort()
}
