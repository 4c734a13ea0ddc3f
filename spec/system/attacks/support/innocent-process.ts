// An innocent client that repeatedly sets a key, gets it and receives the notification.

import { once } from 'node:events'
import { connect as connectSocket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import mqttPacket, { type IPublishPacket, type Packet } from 'mqtt-packet'
import { as } from '../../../support/backwards.js'
import { acknowledge, connect, request, subscribe } from '../../../support/packets.js'
import { notificationTopicOf, responseTopicOf } from '../../../support/topics.js'
import { command, textOf } from '../../../support/words.js'
import { Rounds } from './rounds.js'

const [url = ''] = process.argv.slice(2)
/** The pause between two rounds, in ms. */
const PAUSE_MS = 3
const ID = 'innocent'
const KEY = 'innocent/key'

const { protocol, hostname, port } = new URL(url)
const address = { host: hostname, port: Number(port) }
const secure = protocol === 'mqtts:'
// The client does not verify the certificate.
const socket = secure ? connectTls({ ...address, rejectUnauthorized: false }) : connectSocket(address)
const parser = mqttPacket.parser({ protocolVersion: 5 })
const rounds = new Rounds()
parser.on('packet', receive)
parser.on('error', error => rounds.complain(`received invalid MQTT: ${error.message}`))
socket.on('data', data => parser.parse(data))
socket.on('error', () => undefined)
socket.once('close', () => rounds.end('the socket was closed'))

function receive(packet: Packet): void {
  if (packet.cmd === 'disconnect') rounds.complain(`disconnected by the broker: ${packet.reasonCode}`)
  if (packet.cmd !== 'publish') return
  if (packet.qos > 0) socket.write(acknowledge(packet.messageId ?? 0))
  rounds.arrived(nameOf(packet))
}

const nameOf = ({ topic, payload, properties }: IPublishPacket): string => {
  const words = textOf(typeof payload === 'string' ? Buffer.from(payload) : payload)
  return topic === responseTopicOf(ID) ? `${properties?.correlationData}: ${words}` : words
}

const value = (text: string): string => `$${text.length}\r\n${text}\r\n`

socket.setNoDelay(true)
await once(socket, secure ? 'secureConnect' : 'connect')
// A broker without authentication ignores the user name and the password.
const { username, password } = as('innocent')
socket.write(connect(ID, { username, password }))
await once(parser, 'packet')
socket.write(subscribe([responseTopicOf(ID), notificationTopicOf(ID)], 1, 1))
await once(parser, 'packet')
socket.write(request(ID, command(`KEYNOTIFY ${KEY}`)))
await rounds.all(['1: +OK\r\n'])
await rounds.run(PAUSE_MS, round => {
  const text = `round-${round}`
  const [set, get] = [(2 * round) % 65_000 || 1, ((2 * round) % 65_000) + 1]
  socket.write(request(ID, command(`SET ${KEY} ${text}`), set))
  socket.write(request(ID, command(`GET ${KEY}`), get))
  return [
    `${set}: +OK\r\n`,
    `${get}: ${value(text)}`,
    `*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n${value(text)}`,
  ]
})
