import type { X509Certificate } from 'node:crypto'
import { ArgumentError } from '../../core/util/errors.js'
import type { PeerChain } from '../../node/net/peer-chain.js'
import type { ClientCertificate, LoginRequest, LoginResult, Method, ProofOf, SubjectName } from './login.js'

/** Attributes for clients whose certificate, or one of its issuers, has this subject. */
export interface CertificateAttributes {
  /**
   * For example `CN = Contoso Root CA Cert, OU = Engineering, C = US`. A comma within a value is escaped as `\,`. The
   * order of the parts, the case of ASCII letters and repeated spaces do not matter. `CN = a + OU = b` is one part with
   * two values, as in the certificate.
   */
  readonly subject: string
  readonly attributes: Readonly<Record<string, string>>
}

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
  const bySubject = new Map(known.map(({ subject, attributes }) => [comparedName(parseSubject(subject)), attributes]))
  const method = ({ certificate }: LoginRequest): LoginResult | undefined => {
    if (certificate === undefined) return undefined
    const { trusted, subjects, commonNames, validTo: expiresAt } = certificate
    const [own] = subjects
    if (!trusted || own === undefined)
      return { refused: 'not-authorized', reason: 'the certificate is not signed by a trusted authority' }
    // Otherwise all certificates without a subject would be the same principal.
    if (own.length === 0) return { refused: 'not-authorized', reason: 'the certificate has no subject' }
    const attributes = subjects.map(subject => bySubject.get(comparedName(subject))).find(found => found !== undefined)
    const [username] = commonNames.length === 1 ? commonNames : []
    return { principal: { id: `x509 ${subjectKey(own)}`, username, attributes, expiresAt } }
  }
  const proofOf: ProofOf = ({ certificate }) => (certificate === undefined ? undefined : 'verifiable')
  return Object.assign(method, { proofOf })
}

const subjectKey = (subject: SubjectName): string => JSON.stringify(subject)

/** Returns the names in a chain. */
export function readCertificate({ isTrusted, leaf, issuers }: PeerChain): ClientCertificate {
  return {
    trusted: isTrusted,
    subjects: [leaf, ...issuers].map(certificate => partsOf(certificate).map(formatPart).sort()),
    commonNames: partsOf(leaf).flatMap(values => values.flatMap(({ type, value }) => (type === 'CN' ? value : []))),
    fingerprint: leaf.fingerprint256,
    validTo: Date.parse(leaf.validTo),
  }
}

/** A value in a name. A part of a name has one value or several (X.501, multi-valued RDN). */
interface NameValue {
  readonly type: string
  readonly value: string
}

/**
 * Returns the parts of a subject. Node writes each on a line of its own and escapes all separators in values (RFC 4514),
 * so that no value can look like another part. It writes values that are not text as `#` and hexadecimal digits.
 */
const partsOf = ({ subject }: X509Certificate): readonly (readonly NameValue[])[] =>
  // An empty subject is undefined, which Node's types omit.
  (subject || undefined)?.split('\n').map(line =>
    line.split(' + ').map(text => {
      const [type = '', value = ''] = splitAt(text, '=')
      return { type, value: value.startsWith('#') ? `\\${value}` : unescapeValue(value) }
    }),
  ) ?? []

function splitAt(text: string, separator: string): readonly [string, string] {
  const index = text.indexOf(separator)
  return [text.slice(0, index), text.slice(index + separator.length)]
}

const unescapeValue = (value: string): string =>
  value.replace(/\\([0-9A-Fa-f]{2}|[\s\S])/g, (_, escaped: string) =>
    escaped.length === 2 ? String.fromCharCode(Number.parseInt(escaped, 16)) : escaped,
  )

/** Escapes what separates the values of a part. */
const formatPart = (values: readonly NameValue[]): string =>
  values
    .map(({ type, value }) => `${type}=${value.replace(/[+\\]/g, '\\$&')}`)
    .sort()
    .join(' + ')

/**
 * Returns a name for comparisons. Like OpenSSL, it ignores the case of ASCII letters, repeated spaces, and spaces at the
 * ends of values.
 */
const comparedName = (subject: SubjectName): string => subjectKey(subject.map(comparedPart).sort())

const comparedPart = (part: string): string =>
  part
    .split(' + ')
    .map(text => {
      const [type, value] = splitAt(text, '=')
      return `${type}=${value.replace(/[ \t\n\v\f\r]+/g, ' ').replace(/^ | $/g, '')}`
    })
    .sort()
    .join(' + ')
    .replace(/[A-Z]/g, letter => letter.toLowerCase())

/** Parses a subject in AIO's notation. Throws {@link ArgumentError} for an invalid subject. */
export const parseSubject = (text: string): SubjectName =>
  Array.from(text.matchAll(/(?:^|,)((?:\\[\s\S]|[^\\,])*)/g), ([, part = '']) =>
    formatPart(part.split(/(?<!\\)\+(?=\s*[A-Za-z][A-Za-z0-9.]*\s*=)/).map(value => parseNameValue(value, text))),
  ).sort()

function parseNameValue(part: string, text: string): NameValue {
  const [, type, value] = /^\s*([A-Za-z][A-Za-z0-9.]*|\d+(?:\.\d+)+)\s*=\s*(.+?)\s*$/s.exec(part) ?? []
  if (type === undefined || value === undefined)
    throw new ArgumentError(`Expected a subject such as \`CN = panel, O = contoso\`, got \`${text.slice(0, 80)}\``)
  return { type, value: unescapeValue(value) }
}
