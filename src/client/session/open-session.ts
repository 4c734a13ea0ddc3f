// A default import, because the browser build has no named exports.
import mqtt, { type MqttClient } from 'mqtt'
import { randomOf } from '../../core/util/backoff.js'
import { checkHas, checkObject } from '../../core/util/check.js'
import type { Clock } from '../../core/util/clock.js'
import { ArgumentError } from '../../core/util/errors.js'
import { AddressRouter } from './addresses.js'
import type { ReconnectSettings } from './connection-manager.js'
import type { MqttJsClient } from './mqttjs-client.js'
import { type MqttConnectOptions, toClientOptions } from './mqttjs-options.js'
import { isShared, MqttJsSession, type OwnedConnection } from './mqttjs-session.js'
import type { MqttSession, ServiceSession } from './session.js'
import { splitCredentials } from './url-credentials.js'

/** Creates a session. Throws if mqtt.js rejects the options; some of them are rejected only in `open`. */
export function openSession(
  options: MqttConnectOptions,
  reconnectSettings: ReconnectSettings,
  clock: Clock,
): MqttSession {
  return new MqttJsSession(...createConnection(options, reconnectSettings, false), clock)
}

export function openServiceSession(
  options: MqttConnectOptions,
  reconnectSettings: ReconnectSettings,
  clock: Clock,
): ServiceSession {
  return new MqttJsSession(...createConnection(options, reconnectSettings, true), clock)
}

function createConnection(
  options: MqttConnectOptions,
  reconnectSettings: ReconnectSettings,
  isManualAck: boolean,
): [MqttJsClient, OwnedConnection] {
  const { followReferences = false, maximumPacketSize, retainAsPublished = false } = options
  const random = randomOf(reconnectSettings.backoff)
  const createClient = (url: string): MqttClient => {
    const { address, ...login } = splitCredentials(url)
    const client = mqtt.connect(address, toClientOptions({ ...options, ...login }, address))
    checkProtocol(url, client.options.protocol)
    return client
  }
  const router = new AddressRouter({ ...options, followReferences, random }, createClient)
  return [
    router.client,
    {
      router,
      reconnectSettings,
      maximumPacketSize,
      isManualAck,
      retainAsPublished,
    },
  ]
}

/**
 * Throws if mqtt.js would use another scheme. In a page it uses WebSockets for any scheme and would retry forever.
 * React Native can use other schemes.
 */
function checkProtocol(url: string, actual: string | undefined): void {
  if (url.startsWith('ws') || !actual?.startsWith('ws') || navigator.product === 'ReactNative') return
  const { protocol, hostname } = new URL(url)
  throw new ArgumentError(
    `Expected an address that begins with ws:// or wss://, got one with ${protocol}// for ${hostname}: ` +
      'pages can reach a broker only by WebSocket',
  )
}

const CLIENT_METHODS = ['on', 'once', 'off', 'publish', 'subscribe', 'unsubscribe', 'end']

/**
 * Opens a session on a caller's `MqttClient` and never closes the client. Throws {@link ArgumentError} for MQTT
 * versions before 5.
 */
export function shareSession(client: MqttJsClient, clock: Clock): MqttSession {
  checkHas('the MqttClient', client, CLIENT_METHODS)
  checkObject('`options` of the MqttClient', client.options)
  if (client.disconnecting || client.disconnected) {
    throw new ArgumentError('Expected an open MqttClient, got one that has ended')
  }
  if (client.options.protocolVersion !== 5) {
    throw new ArgumentError(
      `Expected an MqttClient that speaks MQTT 5, got protocol version ${client.options.protocolVersion}: ` +
        'connect it with { protocolVersion: 5 }',
    )
  }
  if (isShared(client)) {
    throw new ArgumentError(
      'Expected an MqttClient without another state store, because two would end each other’s subscriptions: ' +
        'use that one, or wait until its `close()` has settled',
    )
  }
  return new MqttJsSession(client, undefined, clock)
}
