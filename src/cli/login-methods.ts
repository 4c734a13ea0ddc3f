import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { ArgumentError, reason } from '../core/util/errors.js'
import { type CertificateAttributes, parseSubject } from '../server/access/certificates.js'
import { YamlFile, type YamlNode } from '../server/access/yaml-file.js'
import { certificates, type Method, Passwords, Tokens } from '../server/index.js'
import { EXIT, Failure } from './failure.js'

/** Flags that say how clients prove who they are. */
export interface LoginFlags {
  readonly authentication?: string
  readonly passwordFile?: string
  readonly tlsClientCa?: string
  readonly jwks?: string
  readonly audience?: readonly string[]
}

/** The methods that flags and files ask for. */
export interface LoginMethods {
  readonly methods: readonly Method[]
  /** File of the authorities of client certificates. */
  readonly clientCa: string | undefined
  /** Files that are read again when they change, and what is done then. */
  readonly reloads: ReadonlyMap<string, () => void>
}

/** Throws {@link Failure} for what makes no sense and what cannot be read. */
export function loginMethods(flags: LoginFlags): LoginMethods {
  const { authentication } = flags
  const fromFile =
    authentication === undefined ? [] : named(authentication, () => readAuthenticationFile(authentication))
  const settings = [...fromFile, ...fromFlags(flags)]
  const reloads = new Map<string, () => void>()
  const methods = settings.map(each => methodOf(each, reloads))
  return { methods, clientCa: named('authentication', () => clientCaOf(settings)), reloads }
}

function* fromFlags({ tlsClientCa, jwks, audience, passwordFile }: LoginFlags): Iterable<MethodSettings> {
  if (tlsClientCa !== undefined) yield { method: 'X509', clientCa: tlsClientCa, attributes: [] }
  if ((jwks === undefined) !== (audience === undefined))
    throw new Failure(EXIT.usage, 'tokens need both --jwks and --audience')
  if (jwks !== undefined && audience !== undefined)
    yield { method: 'ServiceAccountToken', jwks, audiences: audience, issuer: undefined }
  if (passwordFile !== undefined) yield { method: 'Password', file: passwordFile }
}

function methodOf(settings: MethodSettings, reloads: Map<string, () => void>): Method {
  if (settings.method === 'X509') return certificates(settings.attributes)
  if (settings.method === 'Password') {
    const { file } = settings
    const passwords = named(file, () => new Passwords(read(file)))
    reloads.set(file, () => passwords.load(read(file)))
    return passwords.method
  }
  const { jwks, audiences, issuer } = settings
  const isAddress = /^https?:/.test(jwks)
  const tokens = named(jwks, () => new Tokens({ jwks: isAddress ? jwks : read(jwks), audiences, issuer }))
  if (!isAddress) reloads.set(jwks, () => tokens.load(read(jwks)))
  return tokens.method
}

/** The text of a file. Throws {@link Failure}. */
export function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new Failure(EXIT.usage, `cannot read ${path}: ${reason(cause)}`, { cause })
  }
}

/** Does what throws, and says about which file. */
export function named<T>(path: string, task: () => T): T {
  try {
    return task()
  } catch (cause) {
    throw cause instanceof Failure ? cause : new Failure(EXIT.usage, `${path}: ${reason(cause)}`, { cause })
  }
}

/** One of the `authenticationMethods` of a file; paths are absolute. */
export type MethodSettings =
  | { readonly method: 'X509'; readonly clientCa: string; readonly attributes: readonly CertificateAttributes[] }
  | {
      readonly method: 'ServiceAccountToken'
      /** A file or an address. */
      readonly jwks: string
      readonly audiences: readonly string[]
      readonly issuer: string | undefined
    }
  | { readonly method: 'Password'; readonly file: string }

/**
 * Reads the methods of an AIO `BrokerAuthentication`. What is the name of something in the cluster there is a file here,
 * beside this one; a store without Kubernetes behind it needs the keys of tokens (`jwks`); and there is one more method,
 * `Password`. Throws {@link ArgumentError} with line and place.
 */
export function readAuthenticationFile(path: string): readonly MethodSettings[] {
  const { root } = new YamlFile(readFileSync(path, 'utf8'))
  const { spec, authenticationMethods, kind } = root.fields(
    'apiVersion',
    'kind',
    'metadata',
    'spec',
    'authenticationMethods',
  )
  kind?.choice('BrokerAuthentication')
  const methods = authenticationMethods ?? spec?.fields('authenticationMethods').authenticationMethods
  if (methods === undefined) throw root.error('Expected `authenticationMethods`, but it is missing')
  return methods.list().map(method => methodSettingsOf(method, dirname(path)))
}

function methodSettingsOf(place: YamlNode, folder: string): MethodSettings {
  const { method, x509Settings, serviceAccountTokenSettings, passwordSettings } = place.fields(
    'method',
    'x509Settings',
    'serviceAccountTokenSettings',
    'passwordSettings',
  )
  const name = needed(place, method, 'method').choice('X509', 'ServiceAccountToken', 'Password')
  if (name === 'X509') return x509(needed(place, x509Settings, 'x509Settings'), folder)
  if (name === 'Password') {
    const settings = needed(place, passwordSettings, 'passwordSettings')
    return { method: name, file: resolve(folder, needed(settings, settings.fields('file').file, 'file').text()) }
  }
  return tokens(needed(place, serviceAccountTokenSettings, 'serviceAccountTokenSettings'), folder)
}

function x509(place: YamlNode, folder: string): MethodSettings {
  const { trustedClientCaCert, authorizationAttributes, additionalValidation } = place.fields(
    'trustedClientCaCert',
    'authorizationAttributes',
    'additionalValidation',
  )
  additionalValidation?.choice('None')
  const clientCa = resolve(folder, needed(place, trustedClientCaCert, 'trustedClientCaCert').text())
  const attributes = authorizationAttributes?.children().map(attributesOf) ?? []
  return { method: 'X509', clientCa, attributes }
}

function attributesOf(place: YamlNode): CertificateAttributes {
  const { subject, attributes } = place.fields('subject', 'attributes')
  const text = needed(place, subject, 'subject')
  text.locateErrors(() => parseSubject(text.text()))
  return { subject: text.text(), attributes: needed(place, attributes, 'attributes').textMap() }
}

function tokens(place: YamlNode, folder: string): MethodSettings {
  const { audiences, jwks, issuer } = place.fields('audiences', 'jwks', 'issuer')
  const keys = needed(place, jwks, 'jwks').text()
  const list = needed(place, audiences, 'audiences').texts()
  if (list.length === 0) throw place.error('Expected an audience, got none')
  const where = /^https?:/.test(keys) ? keys : resolve(folder, keys)
  return { method: 'ServiceAccountToken', jwks: where, audiences: list, issuer: issuer?.text() }
}

function needed(place: YamlNode, found: YamlNode | undefined, name: string): YamlNode {
  if (found === undefined) throw place.error(`Expected \`${name}\`, but it is missing`)
  return found
}

/** The files of certificate authorities; at most one, as all listeners have the same. Throws {@link ArgumentError}. */
export function clientCaOf(methods: readonly MethodSettings[]): string | undefined {
  const [first, ...rest] = methods.flatMap(method => (method.method === 'X509' ? method.clientCa : []))
  if (rest.length > 0)
    throw new ArgumentError('Expected one X509 method, got several; put all authorities into one file')
  return first
}
