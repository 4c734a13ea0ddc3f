import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { ArgumentError, reason } from '../core/util/errors.js'
import { type CertificateAttributes, parseSubject } from '../server/access/certificates.js'
import { YamlFile, type YamlNode } from '../server/access/yaml-file.js'
import { certificates, type Method, Passwords, Tokens } from '../server/index.js'
import { EXIT, Failure } from './failure.js'

export interface LoginFlags {
  readonly authentication?: string
  readonly passwordFile?: string
  readonly tlsClientCa?: string
  readonly jwks?: string
  readonly audience?: readonly string[]
}

export interface LoginMethods {
  readonly methods: readonly Method[]
  /** The file with the authorities of client certificates. */
  readonly clientCa: string | undefined
  /** The functions that reload files, by the path of the file to watch. */
  readonly reloads: ReadonlyMap<string, () => void>
}

/** Returns the authentication methods of flags and files. Throws {@link Failure} if they are invalid or unreadable. */
export function loginMethods(flags: LoginFlags, warn: (message: string) => void): LoginMethods {
  const { authentication } = flags
  const fromFile =
    authentication === undefined ? [] : named(authentication, () => readAuthenticationFile(authentication))
  const settings = [...fromFile, ...fromFlags(flags)]
  const reloads = new Map<string, () => void>()
  const methods = settings.map(each => methodOf(each, reloads, warn))
  return { methods, clientCa: named('authentication', () => clientCaOf(settings)), reloads }
}

function* fromFlags({ tlsClientCa, jwks, audience, passwordFile }: LoginFlags): Iterable<MethodSettings> {
  if (tlsClientCa !== undefined) yield { method: 'X509', clientCa: tlsClientCa, attributes: [] }
  if ((jwks === undefined) !== (audience === undefined))
    throw new Failure(EXIT.usage, 'authentication by tokens requires both --jwks and --audience')
  if (jwks !== undefined && audience !== undefined)
    yield { method: 'ServiceAccountToken', jwks, audiences: audience, issuer: undefined }
  if (passwordFile !== undefined) yield { method: 'Password', file: passwordFile }
}

function methodOf(settings: MethodSettings, reloads: Map<string, () => void>, warn: (message: string) => void): Method {
  if (settings.method === 'X509') return certificates(settings.attributes)
  if (settings.method === 'Password') {
    const { file } = settings
    const passwords = named(file, () => new Passwords(read(file)))
    reloads.set(file, () => passwords.load(read(file)))
    return passwords.method
  }
  const { jwks, audiences, issuer } = settings
  const isAddress = /^https?:/.test(jwks)
  const tokens = named(jwks, () => new Tokens({ jwks: isAddress ? jwks : read(jwks), audiences, issuer, warn }))
  if (!isAddress) reloads.set(jwks, () => tokens.load(read(jwks)))
  return tokens.method
}

export function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new Failure(EXIT.usage, `cannot read ${path}: ${reason(cause)}`, { cause })
  }
}

/** Runs a task, and adds the path of the file to its error. */
export function named<T>(path: string, task: () => T): T {
  try {
    return task()
  } catch (cause) {
    throw cause instanceof Failure ? cause : new Failure(EXIT.usage, `${path}: ${reason(cause)}`, { cause })
  }
}

/** An item of `authenticationMethods`, with absolute paths. */
export type MethodSettings =
  | { readonly method: 'X509'; readonly clientCa: string; readonly attributes: readonly CertificateAttributes[] }
  | {
      readonly method: 'ServiceAccountToken'
      /** The path of a file, or an address. */
      readonly jwks: string
      readonly audiences: readonly string[]
      readonly issuer: string | undefined
    }
  | { readonly method: 'Password'; readonly file: string }

/**
 * Reads the methods of an AIO `BrokerAuthentication`, with these differences: references to resources of the cluster
 * are paths relative to this file, tokens require `jwks` because there is no Kubernetes to verify them, and `Password`
 * is a further method. Throws {@link ArgumentError} with line and column.
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

function methodSettingsOf(node: YamlNode, folder: string): MethodSettings {
  const { method, x509Settings, serviceAccountTokenSettings, passwordSettings } = node.fields(
    'method',
    'x509Settings',
    'serviceAccountTokenSettings',
    'passwordSettings',
  )
  const name = needed(node, method, 'method').choice('X509', 'ServiceAccountToken', 'Password')
  if (name === 'X509') return x509(needed(node, x509Settings, 'x509Settings'), folder)
  if (name === 'Password') {
    const settings = needed(node, passwordSettings, 'passwordSettings')
    return { method: name, file: resolve(folder, needed(settings, settings.fields('file').file, 'file').text()) }
  }
  return tokens(needed(node, serviceAccountTokenSettings, 'serviceAccountTokenSettings'), folder)
}

function x509(node: YamlNode, folder: string): MethodSettings {
  const { trustedClientCaCert, authorizationAttributes, additionalValidation } = node.fields(
    'trustedClientCaCert',
    'authorizationAttributes',
    'additionalValidation',
  )
  additionalValidation?.choice('None')
  const clientCa = resolve(folder, needed(node, trustedClientCaCert, 'trustedClientCaCert').text())
  const attributes = authorizationAttributes?.children().map(attributesOf) ?? []
  return { method: 'X509', clientCa, attributes }
}

function attributesOf(node: YamlNode): CertificateAttributes {
  const { subject, attributes } = node.fields('subject', 'attributes')
  const text = needed(node, subject, 'subject')
  text.locateErrors(() => parseSubject(text.text()))
  return { subject: text.text(), attributes: needed(node, attributes, 'attributes').textMap() }
}

function tokens(node: YamlNode, folder: string): MethodSettings {
  const { audiences, jwks, issuer } = node.fields('audiences', 'jwks', 'issuer')
  const keys = needed(node, jwks, 'jwks').text()
  const list = needed(node, audiences, 'audiences').texts()
  if (list.length === 0) throw node.error('Expected an audience, got none')
  const where = /^https?:/.test(keys) ? keys : resolve(folder, keys)
  return { method: 'ServiceAccountToken', jwks: where, audiences: list, issuer: issuer?.text() }
}

function needed(node: YamlNode, found: YamlNode | undefined, name: string): YamlNode {
  if (found === undefined) throw node.error(`Expected \`${name}\`, but it is missing`)
  return found
}

/**
 * Returns the file of certificate authorities, which all listeners share. Throws {@link ArgumentError} if the methods
 * name several files.
 */
export function clientCaOf(methods: readonly MethodSettings[]): string | undefined {
  const [first, ...rest] = methods.flatMap(method => (method.method === 'X509' ? method.clientCa : []))
  if (rest.length > 0)
    throw new ArgumentError('Expected one X509 method, got several; put all authorities into one file')
  return first
}
