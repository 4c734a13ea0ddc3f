// By its default alone: the build for browsers exports nothing else.
import mqtt from 'mqtt'
import type { Clock } from '../base/clock.js'
import { ArgumentError } from '../base/errors.js'
import type { Reconnecting } from './dialler.js'
import type { MqttJsClient } from './mqttjs-client.js'
import { takeAuth } from './mqttjs-insides.js'
import { type MqttConnectOptions, toClientOptions } from './mqttjs-options.js'
import { MqttJsSession, SHARED } from './mqttjs-session.js'
import type { MqttSession, ServiceSession } from './session.js'

/** A session on a connection of our own. Throws what the options make mqtt.js throw, once it is opened. */
export function openSession(options: MqttConnectOptions, reconnecting: Reconnecting, clock: Clock): MqttSession {
  const client = mqtt.connect(options.url, toClientOptions(options))
  takeAuth(client)
  return new MqttJsSession(client, { client, reconnecting, maximumPacketSize: options.maximumPacketSize }, clock)
}

/** A session of one who answers, on a connection of its own, as {@link openSession}. */
export function openServiceSession(
  options: MqttConnectOptions,
  reconnecting: Reconnecting,
  clock: Clock,
): ServiceSession {
  const client = mqtt.connect(options.url, toClientOptions(options))
  takeAuth(client)
  const { maximumPacketSize } = options
  return new MqttJsSession(client, { client, reconnecting, maximumPacketSize, byHand: true }, clock)
}

/** A session on somebody else's `MqttClient`, which is never closed by us. Throws {@link ArgumentError} before MQTT 5. */
export function shareSession(client: MqttJsClient, clock: Clock): MqttSession {
  if (client.disconnecting || client.disconnected) {
    throw new ArgumentError('Expected an MqttClient that is in use, got one that was ended')
  }
  if (client.options.protocolVersion !== 5) {
    throw new ArgumentError(
      `Expected an MqttClient that speaks MQTT 5, got protocol version ${client.options.protocolVersion}: ` +
        'connect it with { protocolVersion: 5 }',
    )
  }
  if (SHARED.has(client)) {
    throw new ArgumentError(
      'Expected an MqttClient that serves no other state store, for two would end each other’s subscriptions: ' +
        'use that one, or wait until its `close()` has settled',
    )
  }
  return new MqttJsSession(client, undefined, clock)
}
