import { createHash, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bitString, integer, object, octets, sequence, setOf, tagged, time, trueValue, utf8String } from './der.js'

/** A certificate with its key, in PEM format. */
export interface Pair {
  readonly cert: string
  readonly key: string
}

/** An authority that issues certificates with keys of the curve P-256 (RFC 5280, section 4.1). */
export class Authority implements Pair {
  readonly folder = mkdtempSync(join(tmpdir(), 'authority-'))
  readonly cert: string
  readonly key: string
  /** The path of the authority's own certificate. */
  readonly file: string
  readonly #subject: string
  #count = 0

  /** @param subject - for example `/CN=Contoso Root CA Cert/OU=Engineering/C=US` */
  constructor(subject: string, issuer?: Authority) {
    const pair = issuer ? issuer.issue(subject, { authority: true }) : certificate({ subject, authority: true })
    this.cert = pair.cert
    this.key = pair.key
    this.file = this.#write('ca.pem', this.cert)
    this.#subject = subject
  }

  /** Issues a certificate for a subject and for `localhost` and 127.0.0.1. */
  issue(
    subject: string,
    { days = 2, authority = false, keyOf, claimsKeyOf, claimsIssuer = this }: IssueOptions = {},
  ): Pair {
    const issuer = { subject: this.#subject, key: this.key, claimedKey: claimsIssuer.key }
    return certificate({ subject, days, authority, key: keyOf?.key, claimedKey: claimsKeyOf?.key, issuer })
  }

  /** Writes a certificate and its key to files, and returns the paths. */
  files({ cert, key }: Pair): { readonly cert: string; readonly key: string } {
    const name = `files-${++this.#count}`
    return { cert: this.#write(`${name}.pem`, cert), key: this.#write(`${name}.key`, key) }
  }

  #write(name: string, content: string): string {
    const path = join(this.folder, name)
    writeFileSync(path, content)
    return path
  }
}

export interface IssueOptions {
  readonly days?: number
  readonly authority?: boolean
  /** The owner of the key. Default: a new key. */
  readonly keyOf?: Pair | undefined
  /** The authority whose key the certificate names as its own, as a forger does. Default: its own key. */
  readonly claimsKeyOf?: Pair | undefined
  /** The authority whose key the certificate names as its issuer's. Default: the key that signs it. */
  readonly claimsIssuer?: Pair | undefined
}

const DAY_MS = 86_400_000
const ECDSA_WITH_SHA256 = sequence(object('2a8648ce3d040302'))
const BASIC_CONSTRAINTS = object('551d13')
const ALTERNATIVE_NAME = object('551d11')
const SUBJECT_KEY = object('551d0e')
const AUTHORITY_KEY = object('551d23')
const LOCALHOST = sequence(tagged(0x82, Buffer.from('localhost')), tagged(0x87, Buffer.of(127, 0, 0, 1)))
const ATTRIBUTES = new Map([
  ['CN', '550403'],
  ['O', '55040a'],
  ['OU', '55040b'],
  ['C', '550406'],
])

interface CertificateOptions {
  readonly subject: string
  /** Default: the certificate signs itself. */
  readonly issuer?: { readonly subject: string; readonly key: string; readonly claimedKey: string }
  readonly authority: boolean
  /** The days until the certificate expires. Default 2. */
  readonly days?: number
  /** Default: a new key. */
  readonly key?: string | undefined
  readonly claimedKey?: string | undefined
}

const newKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

const publicKeyOf = (key: string): Buffer => createPublicKey(key).export({ type: 'spki', format: 'der' })

function certificate({ subject, issuer, authority, days = 2, key, claimedKey }: CertificateOptions): Pair {
  const privateKey = key ?? newKey()
  const now = Date.now()
  const signingKey = issuer?.key ?? privateKey
  const extensions = [
    authority
      ? sequence(BASIC_CONSTRAINTS, trueValue, octets(sequence(trueValue)))
      : sequence(ALTERNATIVE_NAME, octets(LOCALHOST)),
    sequence(SUBJECT_KEY, octets(octets(identifierOf(claimedKey ?? privateKey)))),
    sequence(AUTHORITY_KEY, octets(sequence(tagged(0x80, identifierOf(issuer?.claimedKey ?? signingKey))))),
  ]
  const content = sequence(
    // Version 3.
    tagged(0xa0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(1), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    nameOf(issuer?.subject ?? subject),
    sequence(time(now), time(now + days * DAY_MS)),
    nameOf(subject),
    publicKeyOf(privateKey),
    tagged(0xa3, sequence(...extensions)),
  )
  const signature = sign('sha256', content, signingKey)
  const lines = sequence(content, ECDSA_WITH_SHA256, bitString(signature))
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey,
  }
}

/** Returns what distinguishes the key from that of another authority with the same name. */
const identifierOf = (key: string): Buffer => createHash('sha1').update(publicKeyOf(key)).digest()

/** Returns the encoded name of a subject such as `/CN=Contoso/C=US`. */
function nameOf(subject: string): Buffer {
  const parts = subject.slice(1).split('/')
  return sequence(
    ...parts.map(part => {
      const [type = '', value = ''] = part.split(/=(.*)/s)
      return setOf(sequence(object(ATTRIBUTES.get(type) ?? ''), utf8String(value)))
    }),
  )
}
