import type { IConnectPacket, IPublishPacket } from 'mqtt-packet'
import { normalForm } from './normal-form.js'
import { Participant } from './participant.js'
import {
  type BrokenPublish,
  CLIENTS,
  type ClientName,
  type Connect,
  type Flavour,
  type Message,
  type Script,
  type Step,
} from './script.js'

export interface Target {
  readonly name: string
  readonly port: number
  /** Whether a client receives one copy of a message that matches several of the client's filters. */
  readonly mergesOverlapping: boolean
}

/** The received packets per client and step, and the packets received by any member of a group. */
export type Transcript = readonly Readonly<Record<ClientName | 'a group', readonly string[]>>[]

let runs = 0

/** Runs a script with separate topics and clients. Rejects if the broker does not respond. */
export async function runScript(target: Target, script: Script): Promise<Transcript> {
  const run = new Run(target, script, `r${++runs}x`)
  try {
    return await run.transcript()
  } finally {
    await run.cleared()
  }
}

class Run {
  readonly #target: Target
  readonly #script: Script
  readonly #name: string
  readonly #sends = new Map<string, number>()
  readonly #participants: Record<ClientName, Participant>
  readonly #observer: Participant

  constructor(target: Target, script: Script, name: string) {
    this.#target = target
    this.#script = script
    this.#name = name
    const participant = (): Participant => new Participant(this.#sends)
    this.#participants = { ann: participant(), bob: participant(), cyd: participant() }
    this.#observer = participant()
  }

  async transcript(): Promise<Transcript> {
    await this.#connect(this.#observer, 'observer', OBSERVER)
    const transcript: Transcript[number][] = []
    for (const step of this.#script.steps) transcript.push(await this.#outcome(step))
    return transcript
  }

  async cleared(): Promise<void> {
    const { steps } = this.#script
    try {
      for (const client of CLIENTS) {
        const participant = this.#participants[client]
        if (!participant.mayHaveSession) continue
        await this.#connect(participant, client, { ...OBSERVER, client })
        await participant.end()
      }
      const messages = steps.flatMap(step =>
        'message' in step ? [step.message] : 'will' in step && step.will ? [step.will] : [],
      )
      for (const topic of new Set(messages.filter(({ retain }) => retain).map(message => message.topic)))
        this.#observer.publish({ ...this.#packetOf({ ...EMPTY, topic }, 5) })
      await this.#observer.settled()
    } finally {
      for (const { wire } of [...Object.values(this.#participants), this.#observer]) wire?.hangUp()
    }
  }

  async #outcome(step: Step): Promise<Transcript[number]> {
    const participant = this.#participants[step.client]
    const isBrokenOff = step.do === 'publish, broken off'
    if (step.do === 'connect' || participant.isConnected) await this.#take(step, participant)
    // Waits until the broker has completed the step, and then until the broker's packets have arrived.
    await (participant.isConnected ? participant : this.#observer).settled()
    await Promise.all(
      CLIENTS.filter(client => client !== step.client).map(client => this.#participants[client].settled()),
    )
    const sends = this.#target.mergesOverlapping ? this.#sends : undefined
    const context = { flavour: this.#script.flavour, prefix: `${this.#name}/`, sends, isBrokenOff }
    const lines = (client: ClientName): string[] => normalForm(this.#participants[client].takeEvents(), context)
    return extractGroupMessages({ ann: lines('ann'), bob: lines('bob'), cyd: lines('cyd') }, this.#script.flavour)
  }

  async #take(step: Step, participant: Participant): Promise<void> {
    switch (step.do) {
      case 'connect':
        if (participant.isConnected && participant.terms?.will) await participant.end()
        return this.#connect(participant, step.client, participant.hasDelayedWill ? { ...step, clean: false } : step)
      case 'publish': {
        const packet = this.#packetOf(step.message, participant.terms?.version ?? 5)
        return participant.publish(packet, step.alias, step.unheard)
      }
      case 'publish, broken off':
        return this.#publishBroken(step, participant)
      case 'subscribe':
        participant.send({
          cmd: 'subscribe',
          messageId: SUBSCRIBE_ID,
          subscriptions: step.filters.map(({ filter, qos, noLocal, retainAsPublished, retainHandling }) => ({
            topic: this.#filter(filter),
            qos,
            ...(participant.terms?.version === 5 ? { nl: noLocal, rap: retainAsPublished, rh: retainHandling } : {}),
          })),
          ...(step.identifier === undefined ? {} : { properties: { subscriptionIdentifier: step.identifier } }),
        })
        return undefined
      case 'unsubscribe':
        participant.send({
          cmd: 'unsubscribe',
          messageId: SUBSCRIBE_ID,
          unsubscriptions: step.filters.map(filter => this.#filter(filter)),
        })
        return undefined
      case 'answer':
        return participant.answerOne()
      case 'cut':
        return participant.end()
      case 'disconnect': {
        // A session that ends with its connection cannot get an expiry interval in DISCONNECT (3.14.2.2.2).
        const expiry = participant.isPersistent && !participant.hasDelayedWill ? step.expiry : undefined
        participant.send({
          cmd: 'disconnect',
          reasonCode: step.withWill ? 4 : 0,
          ...(expiry === undefined ? {} : { properties: { sessionExpiryInterval: expiry } }),
        })
        return participant.end()
      }
    }
  }

  async #connect(participant: Participant, name: string, terms: Connect): Promise<void> {
    const { clean, version, expiry, receiveMaximum, maximumPacketSize, topicAliasMaximum, will } = terms
    const limits = {
      ...(receiveMaximum === undefined ? {} : { receiveMaximum }),
      ...(maximumPacketSize === undefined ? {} : { maximumPacketSize }),
      ...(topicAliasMaximum === undefined ? {} : { topicAliasMaximum }),
    }
    const packet: IConnectPacket = {
      cmd: 'connect',
      clientId: `${this.#name}-${name}`,
      protocolId: 'MQTT',
      protocolVersion: version,
      keepalive: 0,
      clean,
      ...(version === 5 ? { properties: { sessionExpiryInterval: expiry, ...limits } } : {}),
    }
    if (will === undefined) return participant.connect(this.#target.port, terms, packet)
    const { cmd: _, dup: __, ...message } = this.#packetOf(will, version)
    const properties = { ...message.properties, willDelayInterval: will.delay }
    return participant.connect(this.#target.port, terms, {
      ...packet,
      will: { ...message, ...(version === 5 ? { properties } : {}) },
    })
  }

  /**
   * Breaks off an exchange only in a persistent session whose client acknowledges everything and has no will. See the
   * QoS 2 method.
   */
  async #publishBroken({ client, message, when }: BrokenPublish, participant: Participant): Promise<void> {
    const { terms } = participant
    if (terms === undefined) return
    const packet = this.#packetOf(message, terms.version)
    if (!participant.isPersistent || participant.answers !== 'all' || terms.will !== undefined)
      return participant.publish(packet)
    participant.ignoresPubrec = when === 'after PUBREC'
    participant.publish(packet)
    if (when === 'after PUBLISH') await participant.end()
    else {
      await participant.answered()
      await participant.end()
    }
    participant.ignoresPubrec = false
    await this.#connect(participant, client, { ...terms, clean: false })
  }

  #filter(filter: string): string {
    const [, group, rest] = /^(\$share\/[^/]+\/)(.*)$/.exec(filter) ?? ['', '', filter]
    return `${group}${this.#name}/${rest}`
  }

  #packetOf({ topic, qos, retain, size, number, properties }: Message, version: number): IPublishPacket {
    const { correlationData, ...others } = properties
    const binary = correlationData === undefined ? {} : { correlationData: Buffer.from(correlationData) }
    return {
      cmd: 'publish',
      topic: `${this.#name}/${topic}`,
      qos,
      retain,
      dup: false,
      payload: Buffer.from(size === 0 ? '' : `${number} `.padEnd(size, '.')),
      ...(version === 5 ? { properties: { ...others, ...binary } } : {}),
    }
  }
}

/** Moves messages for shared subscriptions (topics below `a`) from the individual receivers to the group. */
function extractGroupMessages(lines: Record<ClientName, readonly string[]>, flavour: Flavour): Transcript[number] {
  if (flavour !== 'shared') return { ...lines, 'a group': [] }
  const isOfGroup = (line: string): boolean => /^(publish a|pubrel)/.test(line)
  const others = (client: ClientName): string[] => lines[client].filter(line => !isOfGroup(line))
  const group = CLIENTS.flatMap(client => lines[client].filter(isOfGroup)).sort()
  return { ann: others('ann'), bob: others('bob'), cyd: others('cyd'), 'a group': group }
}

/** The packet id of SUBSCRIBE, which differs from the packet ids of messages. */
const SUBSCRIBE_ID = 65_000
const OBSERVER: Connect = { do: 'connect', client: 'ann', version: 5, clean: true, expiry: 0, answers: 'all' }
const EMPTY: Message = { number: 0, topic: '', qos: 0, retain: true, size: 0, properties: {} }
