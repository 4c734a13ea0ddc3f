import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { createSecureContext } from 'node:tls'
import type { ConnectOptions } from '../client/connect/connect.js'
import type { Credentials } from '../client/session/mqttjs-options.js'
import { ArgumentError, reason } from '../core/util/errors.js'
import { omitUndefined } from '../core/util/omit-undefined.js'

/** Environment variables, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

const DEFAULT_PORT = 8883
/** Maxima of two-byte and four-byte integers (MQTT 5.0, sections 3.1.2.10 and 3.1.2.11.2). */
const MAX_UINT16 = 65_535
const MAX_UINT32 = 4_294_967_295

/**
 * Returns the broker's URL or URLs, or `undefined` if the environment names no broker. Throws {@link ArgumentError} for
 * invalid variables.
 */
export function urlsFromEnv(env: Environment): string | readonly string[] | undefined {
  const hosts = read(env, 'AIO_BROKER_HOSTNAME')
  const port = readInteger(env, 'AIO_BROKER_TCP_PORT', 1, MAX_UINT16)
  const tls = readFlag(env, 'AIO_MQTT_USE_TLS')
  checkRequires(env, 'AIO_BROKER_TCP_PORT', 'AIO_BROKER_HOSTNAME')
  checkRequires(env, 'AIO_MQTT_USE_TLS', 'AIO_BROKER_HOSTNAME')
  if (hosts === undefined) return undefined
  const urls = hosts.split(',').map(part => {
    const host = part.trim()
    if (!isIPv6(host) && !/^[^\s/?#@:\\[\]]+$/.test(host))
      throw invalidVariable('AIO_BROKER_HOSTNAME', 'a host name', hosts)
    return `${(tls ?? true) ? 'mqtts' : 'mqtt'}://${isIPv6(host) ? `[${host}]` : host}:${port ?? DEFAULT_PORT}`
  })
  return urls.length === 1 ? urls[0] : urls
}

export function optionsFromEnv(env: Environment): ConnectOptions {
  checkPairs(env)
  const credentials = credentialsFromEnv(env)
  checkTlsCredentials(credentials)
  const hasFiles = FILES.some(name => read(env, name) !== undefined)
  const options: { [K in keyof ConnectOptions]: ConnectOptions[K] | undefined } = {
    clientId: read(env, 'AIO_MQTT_CLIENT_ID'),
    ...credentials,
    keepAlive: readSeconds(env, 'AIO_MQTT_KEEP_ALIVE', MAX_UINT16),
    sessionExpiry: readSeconds(env, 'AIO_MQTT_SESSION_EXPIRY', MAX_UINT32),
    cleanStart: readFlag(env, 'AIO_MQTT_CLEAN_START'),
    credentials: hasFiles ? () => credentialsFromEnv(env) : undefined,
  }
  return omitUndefined(options)
}

/**
 * Reads the credentials and their files. Secrets are replaced while a client runs, so it calls this before each attempt
 * to connect.
 */
export const credentialsFromEnv = (env: Environment): Credentials =>
  omitUndefined({
    username: read(env, 'AIO_MQTT_USERNAME'),
    password: readSecret(env, 'AIO_MQTT_PASSWORD_FILE'),
    ca: caFromEnv(env),
    cert: readFileVariable(env, 'AIO_TLS_CERT_FILE')?.toString(),
    key: readFileVariable(env, 'AIO_TLS_KEY_FILE')?.toString(),
    keyPassphrase: readSecret(env, 'AIO_TLS_KEY_PASSWORD_FILE'),
    authentication: readToken(env),
  })

const FILES = [
  'AIO_MQTT_PASSWORD_FILE',
  'AIO_TLS_CA_FILE',
  'AIO_TLS_CERT_FILE',
  'AIO_TLS_KEY_FILE',
  'AIO_TLS_KEY_PASSWORD_FILE',
  'AIO_SAT_FILE',
]

/**
 * Throws {@link ArgumentError} if the certificates and the key cannot be used. A client that reads them again at each
 * attempt would take the error for one that passes.
 */
export function checkTlsCredentials({ ca, cert, key, keyPassphrase: passphrase }: Credentials): void {
  try {
    createSecureContext({ ca, cert, key, passphrase })
  } catch (cause) {
    throw new ArgumentError(`Cannot use these certificates and keys: ${reason(cause)}`, { cause })
  }
}

/** Returns the certificate authority, PEM. Throws {@link ArgumentError} if the file cannot be read. */
export const caFromEnv = (env: Environment): string | undefined => readFileVariable(env, 'AIO_TLS_CA_FILE')?.toString()

function checkPairs(env: Environment): void {
  checkRequires(env, 'AIO_TLS_CERT_FILE', 'AIO_TLS_KEY_FILE')
  checkRequires(env, 'AIO_TLS_KEY_FILE', 'AIO_TLS_CERT_FILE')
  checkRequires(env, 'AIO_TLS_KEY_PASSWORD_FILE', 'AIO_TLS_KEY_FILE')
  if (read(env, 'AIO_SAT_FILE') !== undefined && read(env, 'AIO_MQTT_PASSWORD_FILE') !== undefined) {
    throw new ArgumentError('Expected one of AIO_SAT_FILE and AIO_MQTT_PASSWORD_FILE, got both')
  }
}

function checkRequires(env: Environment, name: string, other: string): void {
  if (read(env, name) === undefined || read(env, other) !== undefined) return
  throw new ArgumentError(`${name} requires ${other}`)
}

// An empty variable is treated as missing, because deployment templates leave unused variables empty.
const read = (env: Environment, name: string): string | undefined => env[name] || undefined

function readFileVariable(env: Environment, name: string): Buffer | undefined {
  const path = read(env, name)
  if (path === undefined) return undefined
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new ArgumentError(`Expected ${name} to name a file that can be read: ${reason(cause)}`, { cause })
  }
}

function readToken(env: Environment): ConnectOptions['authentication'] {
  const data = readFileVariable(env, 'AIO_SAT_FILE')
  return data && { method: 'K8S-SAT', data, expiresAt: expiryOf(data) }
}

/**
 * Returns the expiry of a JWT, ms since the Unix epoch, or `undefined` if the token has none (RFC 7519, section 4.1.4).
 */
function expiryOf(token: Buffer): number | undefined {
  try {
    const { exp }: { readonly exp?: unknown } = JSON.parse(
      Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString(),
    )
    return typeof exp === 'number' ? 1_000 * exp : undefined
  } catch {
    return undefined
  }
}

// Editors append a line end that is not part of the password.
const readSecret = (env: Environment, name: string): string | undefined =>
  readFileVariable(env, name)
    ?.toString()
    .replace(/\r?\n$/, '')

function readInteger(env: Environment, name: string, min: number, max: number): number | undefined {
  const text = read(env, name)
  if (text === undefined) return undefined
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw invalidVariable(name, `an integer from ${min} to ${max}`, text)
}

function readSeconds(env: Environment, name: string, max: number): number | undefined {
  const value = readInteger(env, name, 0, max)
  return value === undefined ? undefined : value * 1000
}

function readFlag(env: Environment, name: string): boolean | undefined {
  const text = read(env, name)
  if (text === undefined) return undefined
  if (/^(true|1)$/i.test(text)) return true
  if (/^(false|0)$/i.test(text)) return false
  throw invalidVariable(name, '`true` or `false`', text)
}

const invalidVariable = (name: string, expected: string, text: string): ArgumentError =>
  new ArgumentError(`Expected ${name} to be ${expected}, got \`${text.slice(0, 80)}\``)
