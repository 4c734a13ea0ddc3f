import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { ArgumentError } from '../core/util/errors.js'
import { type CertificateAttributes, parseSubject } from '../server/access/certificates.js'
import { type Place, YamlFile } from '../server/access/document.js'

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
  if (methods === undefined) throw root.wrong('Expected `authenticationMethods`, got nothing')
  return methods.list().map(method => methodOf(method, dirname(path)))
}

function methodOf(place: Place, folder: string): MethodSettings {
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

function x509(place: Place, folder: string): MethodSettings {
  const { trustedClientCaCert, authorizationAttributes, additionalValidation } = place.fields(
    'trustedClientCaCert',
    'authorizationAttributes',
    'additionalValidation',
  )
  additionalValidation?.choice('None')
  const clientCa = resolve(folder, needed(place, trustedClientCaCert, 'trustedClientCaCert').text())
  const attributes = authorizationAttributes?.members().map(attributesOf) ?? []
  return { method: 'X509', clientCa, attributes }
}

function attributesOf(place: Place): CertificateAttributes {
  const { subject, attributes } = place.fields('subject', 'attributes')
  const text = needed(place, subject, 'subject')
  text.try(() => parseSubject(text.text()))
  return { subject: text.text(), attributes: needed(place, attributes, 'attributes').textMap() }
}

function tokens(place: Place, folder: string): MethodSettings {
  const { audiences, jwks, issuer } = place.fields('audiences', 'jwks', 'issuer')
  const keys = needed(place, jwks, 'jwks').text()
  const list = needed(place, audiences, 'audiences').texts()
  if (list.length === 0) throw place.wrong('Expected an audience, got none')
  const where = /^https?:/.test(keys) ? keys : resolve(folder, keys)
  return { method: 'ServiceAccountToken', jwks: where, audiences: list, issuer: issuer?.text() }
}

function needed(place: Place, found: Place | undefined, name: string): Place {
  if (found === undefined) throw place.wrong(`Expected \`${name}\`, got nothing`)
  return found
}

/** The files of certificate authorities; at most one, as all listeners have the same. Throws {@link ArgumentError}. */
export function clientCaOf(methods: readonly MethodSettings[]): string | undefined {
  const [first, ...rest] = methods.flatMap(method => (method.method === 'X509' ? method.clientCa : []))
  if (rest.length > 0)
    throw new ArgumentError('Expected one X509 method, got several; put all authorities into one file')
  return first
}
