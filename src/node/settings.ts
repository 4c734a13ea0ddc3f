import type { BrokerAddress, ConnectOptions } from '../client/connect/connect.js'
import { ArgumentError } from '../core/util/errors.js'
import { type Environment, optionsFromEnv, urlsFromEnv } from './environment.js'

export type { Environment } from './environment.js'

/**
 * Returns settings for `connect` from the environment variables of the official Azure IoT Operations clients. The
 * variables have the same meaning and defaults as there: `AIO_BROKER_HOSTNAME` (required; comma-separated if several),
 * `AIO_BROKER_TCP_PORT` (8883), `AIO_MQTT_USE_TLS` (true), `AIO_MQTT_CLIENT_ID`, `AIO_MQTT_USERNAME`,
 * `AIO_MQTT_PASSWORD_FILE`, `AIO_MQTT_KEEP_ALIVE` and `AIO_MQTT_SESSION_EXPIRY` (seconds), `AIO_MQTT_CLEAN_START`,
 * `AIO_TLS_CA_FILE`, `AIO_TLS_CERT_FILE`, `AIO_TLS_KEY_FILE`, `AIO_TLS_KEY_PASSWORD_FILE` and `AIO_SAT_FILE`
 * (Kubernetes service account token, renewed by AUTH over the same connection before it expires).
 *
 * Files are read by this call, and again before every attempt to connect, because secrets and certificates are replaced
 * while a client runs. To replace a value that comes from a file, also replace `credentials`. An empty variable counts as
 * missing. Requires Node. Throws `argument`, naming the variable, for an invalid value, for an unreadable file, and for a
 * key that does not match its certificate.
 *
 * @example
 * ```ts
 * await using store = connect({ ...settingsFromEnv(), timeout: 5_000 })
 * ```
 */
export function settingsFromEnv(env: Environment = process.env): ConnectOptions & BrokerAddress {
  const url = urlsFromEnv(env)
  if (url === undefined) throw new ArgumentError('AIO_BROKER_HOSTNAME is not set: it must name the broker')
  return { ...optionsFromEnv(env), url }
}
