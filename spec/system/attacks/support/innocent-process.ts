// An innocent client that repeatedly sets a key, gets it and receives the notification, and measures the time of each
// round.

import { once } from 'node:events'
import { connect as connectSocket } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { connect as connectTls } from 'node:tls'
import mqttPacket, { type IPublishPacket, type Packet } from 'mqtt-packet'
import { as } from '../../../support/backwards.js'
import { acknowledge, connect, request, subscribe } from '../../../support/packets.js'
import { notificationTopicOf, responseTopicOf } from '../../../support/topics.js'
import { command, textOf } from '../../../support/words.js'
import type { Experience } from './innocent.js'

const [url = '', id = ''] = process.argv.slice(2)
/** The pause between two rounds in ms, so that the client does not flood the store. */
const PAUSE_MS = 3
/** The deadline for a report, in ms. */
const REPORT_TIMEOUT_MS = 5_000
const KEY = `innocent/${id}`

const { protocol, hostname, port } = new URL(url)
const address = { host: hostname, port: Number(port) }
const secure = protocol === 'mqtts:'
// The client does not verify the certificate.
const socket = secure ? connectTls({ ...address, rejectUnauthorized: false }) : connectSocket(address)
const parser = mqttPacket.parser({ protocolVersion: 5 })
parser.on('packet', receive)
parser.on('error', error => complain(`received invalid MQTT: ${error.message}`))
socket.on('data', data => parser.parse(data))
socket.on('error', () => undefined)
socket.once('close', () => {
  complain('its connection was ended')
  report()
})

/** The delay of this idle process shows how busy the machine is. */
const lateness = monitorEventLoopDelay({ resolution: 10 })
lateness.enable()

let durations: number[] = []
let complaints: string[] = []
let round = 0
let began = performance.now()
/** The expected events of the round, each of which must arrive once. */
const due = new Set<string>()
/** The round after which the client reports. */
let reportAfterRound = Number.POSITIVE_INFINITY
let finished = (): void => undefined

function complain(words: string): void {
  if (complaints.length < 10) complaints.push(words)
}

function receive(packet: Packet): void {
  if (packet.cmd === 'disconnect') complain(`disconnected by the broker: ${packet.reasonCode}`)
  if (packet.cmd !== 'publish') return
  if (packet.qos > 0) socket.write(acknowledge(packet.messageId ?? 0))
  const what = nameOf(packet)
  if (!due.delete(what)) complain(`in round ${round} came ${JSON.stringify(what.slice(0, 200))}`)
  if (due.size === 0) finished()
}

const nameOf = ({ topic, payload, properties }: IPublishPacket): string => {
  const words = textOf(typeof payload === 'string' ? Buffer.from(payload) : payload)
  return topic === responseTopicOf(id) ? `${properties?.correlationData}: ${words}` : words
}

const value = (text: string): string => `$${text.length}\r\n${text}\r\n`

async function runRounds(): Promise<void> {
  for (;;) {
    round++
    const text = `round-${round}`
    const [set, get] = [(2 * round) % 65_000 || 1, ((2 * round) % 65_000) + 1]
    due.add(`${set}: +OK\r\n`)
    due.add(`${get}: ${value(text)}`)
    due.add(`*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n${value(text)}`)
    began = performance.now()
    const all = new Promise<void>(resolve => {
      finished = resolve
    })
    socket.write(request(id, command(`SET ${KEY} ${text}`), set))
    socket.write(request(id, command(`GET ${KEY}`), get))
    await all
    durations.push(performance.now() - began)
    if (round >= reportAfterRound) report()
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
  }
}

function report(): void {
  if (reportAfterRound === Number.POSITIVE_INFINITY) return
  reportAfterRound = Number.POSITIVE_INFINITY
  process.send?.(experience())
}

/** Returns the measurements since the last call. A round in progress counts with its duration so far. */
function experience(): Experience {
  const all = due.size === 0 ? durations : [...durations, performance.now() - began]
  const sorted = all.sort((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.POSITIVE_INFINITY
  const [median, p99, worst] = [at(0.5), at(0.99), at(1)]
  const measurements = { rounds: durations.length, median, p99, worst, noise: lateness.max / 1e6, complaints }
  lateness.reset()
  durations = []
  complaints = []
  return measurements
}

socket.setNoDelay(true)
await once(socket, secure ? 'secureConnect' : 'connect')
// A broker without authentication ignores the user name and the password.
const { username, password } = as('innocent')
socket.write(connect(id, { username, password }))
await once(parser, 'packet')
socket.write(subscribe([responseTopicOf(id), notificationTopicOf(id)], 1, 1))
await once(parser, 'packet')
due.add('1: +OK\r\n')
const watching = new Promise<void>(resolve => {
  finished = resolve
})
socket.write(request(id, command(`KEYNOTIFY ${KEY}`)))
process.on('message', rounds => {
  reportAfterRound = round + Number(rounds)
  if (socket.destroyed) report()
  else setTimeout(report, REPORT_TIMEOUT_MS)
})
process.on('disconnect', () => process.exit())
await watching
process.send?.('ready')
await runRounds()
