import type { DetailedPeerCertificate, PeerCertificate } from 'node:tls'
import { ArgumentError } from '../../core/util/errors.js'
import type { ClientCertificate, LoginRequest, LoginResult, Method, ProofOf, SubjectName } from './login.js'

/** Attributes of clients whose certificate, or that of an issuer, has a subject. */
export interface CertificateAttributes {
  /** Such as `CN = Contoso Root CA Cert, OU = Engineering, C = US`; a comma that is part of a name has a `\` before it. */
  readonly subject: string
  readonly attributes: Readonly<Record<string, string>>
}

/** Issuers that are looked at. */
const MAX_CHAIN_LENGTH = 10

/**
 * The method: who shows a certificate of an authority that the server believes. Its name (CN) is the user name; attributes
 * are those of the first certificate of its chain, beginning with its own, that has one of the subjects. It is over with
 * the certificate. Throws {@link ArgumentError} for a subject that makes no sense.
 *
 * @example
 * ```ts
 * certificates([{ subject: 'CN = Contoso Root CA Cert, OU = Engineering, C = US', attributes: { organization: 'contoso' } }])
 * ```
 */
export function certificates(known: readonly CertificateAttributes[] = []): Method {
  const bySubject = new Map(known.map(({ subject, attributes }) => [subjectKey(parseSubject(subject)), attributes]))
  const method = ({ certificate }: LoginRequest): LoginResult | undefined => {
    if (certificate === undefined) return undefined
    const { trusted, subjects, commonNames, validTo: expiresAt } = certificate
    const [own] = subjects
    if (!trusted || own === undefined)
      return { refused: 'not-authorized', reason: 'the certificate is not of an authority that is believed here' }
    // All who have none would be one principal.
    if (own.length === 0) return { refused: 'not-authorized', reason: 'the certificate has no subject' }
    const attributes = subjects.map(subject => bySubject.get(subjectKey(subject))).find(found => found !== undefined)
    const [username] = commonNames.length === 1 ? commonNames : []
    return { principal: { id: `x509 ${subjectKey(own)}`, username, attributes, expiresAt } }
  }
  const proofOf: ProofOf = ({ certificate }) => (certificate === undefined ? undefined : 'verifiable')
  return Object.assign(method, { proofOf })
}

/** In which no two subjects are alike, whatever is in their values. */
const subjectKey = (subject: SubjectName): string => JSON.stringify(subject)

/** What TLS knows of a client's certificate; `undefined` when it showed none. */
export function readCertificate(peer: DetailedPeerCertificate, trusted: boolean): ClientCertificate | undefined {
  // Without a certificate it is an empty object.
  if (!('raw' in peer)) return undefined
  const subjects: SubjectName[] = []
  const seen = new Set<PeerCertificate>()
  for (let next = peer; 'subject' in next && !seen.has(next) && subjects.length < MAX_CHAIN_LENGTH; ) {
    seen.add(next)
    subjects.push(subjectNameOf(next))
    // One that is signed by itself is its own issuer.
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

/** Reads a subject as AIO writes it. Throws {@link ArgumentError}. */
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
