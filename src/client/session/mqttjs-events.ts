import type { IConnackPacket, IPublishPacket, Packet } from 'mqtt'
import type { MqttJsClient } from './mqttjs-client.js'

/** Who is told what an `MqttClient` tells. */
export interface MqttJsListener {
  connect(packet: IConnackPacket): void
  packetreceive(packet: Packet): void
  message(topic: string, payload: Uint8Array, packet: IPublishPacket): void
  disconnect(packet: { reasonCode?: number }): void
  error(error: Error): void
  close(): void
  end(): void
}

/** Listens to a client; the returned function ends it. */
export function listenTo(client: MqttJsClient, listener: MqttJsListener): () => void {
  const { connect, packetreceive, message, disconnect, error, close, end } = listener
  client.on('connect', connect)
  client.on('packetreceive', packetreceive)
  client.on('message', message)
  client.on('disconnect', disconnect)
  client.on('error', error)
  client.on('close', close)
  client.on('end', end)
  return () => {
    client.off('connect', connect)
    client.off('packetreceive', packetreceive)
    client.off('message', message)
    client.off('disconnect', disconnect)
    client.off('error', error)
    client.off('close', close)
    client.off('end', end)
  }
}
