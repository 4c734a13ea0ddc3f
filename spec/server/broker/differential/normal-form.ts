import type { IPublishPacket, Packet } from 'mqtt-packet'
import type { Event } from './participant.js'
import type { Flavour } from './script.js'

/** What the normal form has to know of a step. */
export interface Context {
  readonly flavour: Flavour
  /** Topic levels that are of this run alone. */
  readonly prefix: string
  /** How often each message was sent so far; undefined for a broker that sends one copy for each matching filter. */
  readonly sends: ReadonlyMap<string, number> | undefined
  /** The step broke a connection off, so that what it acknowledged before is anybody's guess. */
  readonly broken: boolean
}

/**
 * The packets of a step as far as the standard says what they are. Freedoms, by name:
 *
 * - packet ids (but the same one for the same message), and the order across topics and kinds of packets;
 * - limits that the server chooses (CONNACK), reason strings and user properties of acknowledgements;
 * - PUBACK and PUBREC 0x10 (no matching subscribers) instead of 0, PUBCOMP 0x92 for a PUBREL sent again;
 * - the QoS 2 method (4.3.3), A or B: what an exchange that broke off said before it was taken up;
 * - overlapping filters (3.3.4): one copy with all identifiers and the highest QoS, or one for each;
 * - shared subscriptions (4.8.2): which member;
 * - the DISCONNECT of a connection that is taken over (3.1.4-3), which Mosquitto 2.0 does not send;
 * - topic aliases to the client; the expiry that is left, to some seconds.
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
  /** In the order in which they came, by what keeps its order. */
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
    return this.#context.broken ? lines.sort() : lines
  }

  #line(stream: string, line: string): void {
    const lines = this.#streams.get(stream) ?? []
    this.#streams.set(stream, lines)
    if (!(this.#context.broken && lines.includes(line))) lines.push(line)
  }

  #publish(packet: IPublishPacket, label: string): void {
    const { flavour, prefix, broken } = this.#context
    const topic = packet.topic.slice(prefix.length)
    const { subscriptionIdentifier, topicAlias: _, ...properties } = packet.properties ?? {}
    const copy: Copy = {
      label,
      topic,
      qos: packet.qos,
      retain: packet.retain,
      // By method A the sender may have got its own message before it broke off, and gets it again.
      dup: packet.dup && !broken,
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
    // Whether one that is sent again is another copy of the same message cannot be told.
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
    const { sends, broken } = this.#context
    const most = sends?.get(label) ?? Number.POSITIVE_INFINITY
    const flags = `${retain ? ' retain' : ''}${dup ? ' dup' : ''}${count > most && !retain && !broken ? ' too often' : ''}`
    const ids = [...identifiers].sort((a, b) => a - b).join()
    return `publish ${topic} ${label} qos ${qos}${flags} ids [${ids}] ${rest}`
  }

  #other(packet: Packet, label = ''): void {
    const line = this.#lineOf(packet, label)
    if (line === undefined) return
    // PUBREL follows the order of PUBREC, which is that of messages of any topics.
    this.#line(packet.cmd === 'pubrel' ? line : packet.cmd, line)
  }

  #lineOf(packet: Packet, label: string): string | undefined {
    const { flavour, broken } = this.#context
    switch (packet.cmd) {
      case 'connack':
        return `connack ${packet.reasonCode ?? packet.returnCode} ${packet.sessionPresent}`
      case 'suback':
      case 'unsuback':
        return `${packet.cmd} ${packet.granted ?? ''}`
      case 'puback':
      case 'pubrec':
      case 'pubcomp':
        return broken
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

/** Properties of a message, in one order; expiry in thousands of seconds, as it counts down. */
function described({ messageExpiryInterval, ...properties }: NonNullable<IPublishPacket['properties']>): string {
  const left = messageExpiryInterval === undefined ? [] : [`expires ${Math.round(messageExpiryInterval / 1_000)}`]
  const others = Object.entries(properties)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${Buffer.isBuffer(value) ? value.toString() : JSON.stringify(value)}`)
  return [...left, ...others.sort()].join(' ')
}
