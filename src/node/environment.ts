import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import type { ConnectOptions } from '../client/connect/connect.js'
import { ArgumentError, reason } from '../core/util/errors.js'

/** Environment variables by name, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

const DEFAULT_PORT = 8883
/** Largest values of a two and a four byte integer: MQTT 5.0, sections 3.1.2.10 and 3.1.2.11.2. */
const MOST_UINT16 = 65_535
const MOST_UINT32 = 4_294_967_295

/** The broker's URL, or those of several; `undefined` when the environment says nothing of one. Throws {@link ArgumentError}. */
export function urlsFromEnv(env: Environment): string | readonly string[] | undefined {
  const hosts = read(env, 'AIO_BROKER_HOSTNAME')
  const port = integer(env, 'AIO_BROKER_TCP_PORT', 1, MOST_UINT16)
  const tls = flag(env, 'AIO_MQTT_USE_TLS')
  needs(env, 'AIO_BROKER_TCP_PORT', 'AIO_BROKER_HOSTNAME')
  needs(env, 'AIO_MQTT_USE_TLS', 'AIO_BROKER_HOSTNAME')
  if (hosts === undefined) return undefined
  const urls = hosts.split(',').map(part => {
    const host = part.trim()
    if (!isIPv6(host) && !/^[^\s/?#@:\\[\]]+$/.test(host)) throw wrong('AIO_BROKER_HOSTNAME', 'a host name', hosts)
    return `${(tls ?? true) ? 'mqtts' : 'mqtt'}://${isIPv6(host) ? `[${host}]` : host}:${port ?? DEFAULT_PORT}`
  })
  return urls.length === 1 ? urls[0] : urls
}

/** Everything but the URL. Throws {@link ArgumentError}. */
export function optionsFromEnv(env: Environment): ConnectOptions {
  checkPairs(env)
  const token = tokenOf(env)
  const username = read(env, 'AIO_MQTT_USERNAME')
  const password = secret(env, 'AIO_MQTT_PASSWORD_FILE')
  const found: { [K in keyof ConnectOptions]: ConnectOptions[K] | undefined } = {
    clientId: read(env, 'AIO_MQTT_CLIENT_ID'),
    username,
    password,
    ca: fileOf(env, 'AIO_TLS_CA_FILE')?.toString(),
    cert: fileOf(env, 'AIO_TLS_CERT_FILE')?.toString(),
    key: fileOf(env, 'AIO_TLS_KEY_FILE')?.toString(),
    keyPassphrase: secret(env, 'AIO_TLS_KEY_PASSWORD_FILE'),
    keepAlive: seconds(env, 'AIO_MQTT_KEEP_ALIVE', MOST_UINT16),
    sessionExpiry: seconds(env, 'AIO_MQTT_SESSION_EXPIRY', MOST_UINT32),
    cleanStart: flag(env, 'AIO_MQTT_CLEAN_START'),
    authentication: token,
    // It is replaced long before it expires, by another file of the same name.
    credentials: token && (() => ({ username, password, authentication: tokenOf(env) })),
  }
  // What is there but undefined would hide an option of another source when options are merged.
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))
}

function checkPairs(env: Environment): void {
  needs(env, 'AIO_TLS_CERT_FILE', 'AIO_TLS_KEY_FILE')
  needs(env, 'AIO_TLS_KEY_FILE', 'AIO_TLS_CERT_FILE')
  needs(env, 'AIO_TLS_KEY_PASSWORD_FILE', 'AIO_TLS_KEY_FILE')
  if (read(env, 'AIO_SAT_FILE') !== undefined && read(env, 'AIO_MQTT_PASSWORD_FILE') !== undefined) {
    throw new ArgumentError('Expected one of AIO_SAT_FILE and AIO_MQTT_PASSWORD_FILE, got both')
  }
}

function needs(env: Environment, name: string, other: string): void {
  if (read(env, name) === undefined || read(env, other) !== undefined) return
  throw new ArgumentError(`Expected ${other} beside ${name}, got nothing`)
}

// Templates of deployments leave a variable empty where they have nothing to say.
const read = (env: Environment, name: string): string | undefined => env[name] || undefined

function fileOf(env: Environment, name: string): Buffer | undefined {
  const path = read(env, name)
  if (path === undefined) return undefined
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new ArgumentError(`Expected ${name} to name a file that can be read: ${reason(cause)}`, { cause })
  }
}

function tokenOf(env: Environment): ConnectOptions['authentication'] {
  const data = fileOf(env, 'AIO_SAT_FILE')
  return data && { method: 'K8S-SAT', data, expiresAt: endOf(data) }
}

/** When a token ends, ms since the Unix epoch, if it says so: a JWT (RFC 7519, section 4.1.4). */
function endOf(token: Buffer): number | undefined {
  try {
    const { exp }: { readonly exp?: unknown } = JSON.parse(
      Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString(),
    )
    return typeof exp === 'number' ? 1_000 * exp : undefined
  } catch {
    return undefined
  }
}

// Editors end a file with a line end, which does not belong to the password.
const secret = (env: Environment, name: string): string | undefined =>
  fileOf(env, name)
    ?.toString()
    .replace(/\r?\n$/, '')

function integer(env: Environment, name: string, least: number, most: number): number | undefined {
  const text = read(env, name)
  if (text === undefined) return undefined
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= most) return value
  throw wrong(name, `an integer from ${least} to ${most}`, text)
}

function seconds(env: Environment, name: string, most: number): number | undefined {
  const value = integer(env, name, 0, most)
  return value === undefined ? undefined : value * 1000
}

function flag(env: Environment, name: string): boolean | undefined {
  const text = read(env, name)
  if (text === undefined) return undefined
  if (/^(true|1)$/i.test(text)) return true
  if (/^(false|0)$/i.test(text)) return false
  throw wrong(name, '`true` or `false`', text)
}

const wrong = (name: string, expected: string, text: string): ArgumentError =>
  new ArgumentError(`Expected ${name} to be ${expected}, got \`${text.slice(0, 80)}\``)
