import type { IPublishPacket, Packet } from 'mqtt-packet'
import type { Event } from './participant.js'
import type { Flavour } from './script.js'

export interface Context {
  readonly flavour: Flavour
  readonly prefix: string
  /** The number of transmissions per message. `undefined` for a broker that sends one copy per matching filter. */
  readonly sends: ReadonlyMap<string, number> | undefined
  /** Whether the step broke off a connection, so that its last acknowledgements are undetermined. */
  readonly isBrokenOff: boolean
}

/**
 * Returns the packets of a step without the details that the specification leaves open:
 *
 * - packet ids (except that a message keeps its id), and the order across topics and packet types;
 * - limits that the server chooses (CONNACK), reason strings and user properties of acknowledgements;
 * - PUBACK and PUBREC 0x10 (no matching subscribers) instead of 0, PUBCOMP 0x92 for a repeated PUBREL;
 * - the QoS 2 method (4.3.3), A or B: the packets of a broken-off exchange before the exchange continues;
 * - overlapping filters (3.3.4): one copy with all identifiers and the highest QoS, or one copy for each filter;
 * - shared subscriptions (4.8.2): which member receives a message;
 * - the DISCONNECT on a session takeover (3.1.4-3), which Mosquitto 2.0 does not send;
 * - topic aliases to the client; a few seconds of the remaining expiry.
 */
export function normalForm(events: readonly Event[], context: Context): string[] {
  const lines = new Lines(context)
  for (const event of events) lines.add(event)
  return lines.sorted()
}

const TAKEN_OVER = 0x8e

interface Copy {
  readonly label: string
  readonly topic: string
  qos: number
  retain: boolean
  dup: boolean
  readonly identifiers: Set<number>
  readonly rest: string
  count: number
}

class Lines {
  readonly #context: Context
  readonly #streams = new Map<string, string[]>()
  readonly #copies = new Map<string, Copy>()

  constructor(context: Context) {
    this.#context = context
  }

  add(event: Event): void {
    if ('closed' in event) this.#line('closed', 'closed')
    else if (event.packet.cmd === 'publish') this.#publish(event.packet, event.label ?? '')
    else this.#other(event.packet, event.label)
  }

  sorted(): string[] {
    for (const copy of this.#copies.values()) this.#line(`publish ${copy.topic} ${copy.qos}`, this.#published(copy))
    const lines = [...this.#streams].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, stream]) => stream)
    return this.#context.isBrokenOff ? lines.sort() : lines
  }

  #line(stream: string, line: string): void {
    const lines = this.#streams.get(stream) ?? []
    this.#streams.set(stream, lines)
    if (!(this.#context.isBrokenOff && lines.includes(line))) lines.push(line)
  }

  #publish(packet: IPublishPacket, label: string): void {
    const { flavour, prefix, isBrokenOff } = this.#context
    const topic = packet.topic.slice(prefix.length)
    const { subscriptionIdentifier, topicAlias: _, ...properties } = packet.properties ?? {}
    const copy: Copy = {
      label,
      topic,
      qos: packet.qos,
      retain: packet.retain,
      // With method A, the sender may have received its own message before the break, and then receives it again.
      dup: packet.dup && !isBrokenOff,
      identifiers: new Set([subscriptionIdentifier ?? []].flat()),
      rest: `${packet.payload.length} bytes ${described(properties)}`,
      count: 1,
    }
    const shared = flavour === 'shared' && topic.startsWith('a')
    if (flavour !== 'overlapping') {
      const line = shared ? `publish ${topic} ${label} qos ${copy.qos} ${copy.rest}` : this.#published(copy)
      this.#line(`publish ${topic} ${copy.qos}`, line)
      return
    }
    // A retransmission cannot be distinguished from another copy of the message.
    const key = `${topic} ${label}`
    const known = this.#copies.get(key)
    if (known === undefined) {
      this.#copies.set(key, copy)
      return
    }
    known.qos = Math.max(known.qos, copy.qos)
    known.retain ||= copy.retain
    known.dup ||= copy.dup
    known.count++
    for (const identifier of copy.identifiers) known.identifiers.add(identifier)
  }

  #published({ label, topic, qos, retain, dup, identifiers, rest, count }: Copy): string {
    const { sends, isBrokenOff } = this.#context
    const most = sends?.get(label) ?? Number.POSITIVE_INFINITY
    const flags = `${retain ? ' retain' : ''}${dup ? ' dup' : ''}${count > most && !retain && !isBrokenOff ? ' too often' : ''}`
    const ids = [...identifiers].sort((a, b) => a - b).join()
    return `publish ${topic} ${label} qos ${qos}${flags} ids [${ids}] ${rest}`
  }

  #other(packet: Packet, label = ''): void {
    const line = this.#lineOf(packet, label)
    if (line === undefined) return
    // PUBREL packets follow the order of PUBREC packets across topics.
    this.#line(packet.cmd === 'pubrel' ? line : packet.cmd, line)
  }

  #lineOf(packet: Packet, label: string): string | undefined {
    const { flavour, isBrokenOff } = this.#context
    switch (packet.cmd) {
      case 'connack':
        return `connack ${packet.reasonCode ?? packet.returnCode} ${packet.sessionPresent}`
      case 'suback':
      case 'unsuback':
        return `${packet.cmd} ${packet.granted ?? ''}`
      case 'puback':
      case 'pubrec':
      case 'pubcomp':
        return isBrokenOff
          ? undefined
          : `${packet.cmd} ${label} ${packet.reasonCode === 0x10 ? 0 : (packet.reasonCode ?? 0)}`
      case 'pubrel': {
        const line = `pubrel ${label}`
        return flavour === 'overlapping' && this.#streams.has(line) ? undefined : line
      }
      case 'disconnect':
        return packet.reasonCode === TAKEN_OVER ? undefined : `disconnect ${packet.reasonCode}`
      default:
        return packet.cmd
    }
  }
}

/** Describes a message's properties. The expiry counts down, so it is rounded to thousands of seconds. */
function described({ messageExpiryInterval, ...properties }: NonNullable<IPublishPacket['properties']>): string {
  const left = messageExpiryInterval === undefined ? [] : [`expires ${Math.round(messageExpiryInterval / 1_000)}`]
  const others = Object.entries(properties)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${Buffer.isBuffer(value) ? value.toString() : JSON.stringify(value)}`)
  return [...left, ...others.sort()].join(' ')
}
