import type { Hlc } from '../../src/core/hlc/hlc.js'
import type { Content, Incoming } from '../../src/core/mqtt5/packets.js'
import type { Client } from '../../src/core/mqtt5/peer.js'
import { PROPERTY, STATUS } from '../../src/core/protocol/properties.js'
import { notificationPrefix } from '../../src/core/protocol/topics.js'
import { bytes, resp3, textOf } from '../support/words.js'
import type { Asked } from './cluster-schedule.js'

/** What somebody asked for, and heard of it. */
export interface Operation {
  readonly id: number
  readonly key: string
  readonly words: readonly string[]
  readonly peer: Peer
  /** Order among all that clients do and hear. */
  readonly start: number
  end: number | undefined
  /** What was answered; `undefined` for what the store would not look at. */
  reply: string | undefined
  version: string | undefined
  position: string | undefined
  /** The store said that it was not done and never will be. */
  rejected: boolean
}

/** A registration, and what it brought. */
export interface Watch {
  readonly key: string
  /** The last version of all that its node had come to when it was registered. */
  readonly since: Hlc | undefined
  readonly told: { readonly version: string; readonly payload: string }[]
  /** The last version that its node had come to when the connection ended. */
  until: Hlc | undefined
}

/** One connection of a client to a node. */
export class Peer implements Client {
  readonly clientId: string
  readonly node: number
  open = true
  readonly watches = new Map<string, Watch>()
  readonly violations: string[]
  readonly #prefix: string

  constructor(clientId: string, node: number, violations: string[]) {
    this.clientId = clientId
    this.node = node
    this.violations = violations
    this.#prefix = notificationPrefix(clientId)
  }

  subscribes(): boolean {
    return true
  }

  deliver(topic: string, content: Content): void {
    if (!this.open) return
    const key = Buffer.from(topic.slice(this.#prefix.length), 'hex').toString('latin1')
    const version = String(content.userProperties?.[PROPERTY.timestamp])
    this.watches.get(key)?.told.push({ version, payload: textOf(content.payload) })
    if (!this.watches.has(key)) this.violations.push(`${this.clientId} was told of a key that it does not watch`)
  }

  /** The packet of a request. */
  packet({ id, words }: Pick<Operation, 'id' | 'words'>, now: number, token: number | undefined): Incoming {
    return {
      topic: 'invoke',
      payload: resp3(words),
      qos: 1,
      responseTopic: 'response',
      correlationData: bytes(String(id)),
      userProperties: {
        [PROPERTY.timestamp]: `${now}:0:${this.clientId}`,
        ...(token === undefined ? {} : { [PROPERTY.fencingToken]: `${now - (now % 1e9)}:${token}:tokens` }),
      },
    }
  }
}

/** Notes an answer. */
export function hear(operation: Operation, { payload, userProperties, commonProperties }: Content, end: number): void {
  if (operation.end !== undefined) operation.peer.violations.push(`request ${operation.id} was answered twice`)
  operation.end = end
  if (commonProperties?.[PROPERTY.status] !== String(STATUS.ok)) {
    operation.rejected = true
    return
  }
  operation.reply = textOf(payload)
  operation.version = textFrom(userProperties?.[PROPERTY.timestamp])
  operation.position = textFrom(userProperties?.[PROPERTY.position])
}

/** @param value - what a client may know: the value that was written last */
export function wordsOf(what: Asked, key: string, id: number, px: number | undefined, value = 'none'): string[] {
  if (what === 'get') return ['GET', key]
  if (what === 'del') return ['DEL', key]
  if (what === 'vdel') return ['VDEL', key, value]
  // Some are cut into several messages.
  const long = id % 7 === 0 ? 'x'.repeat(700) : ''
  const condition = { set: [], nx: ['NX'], nex: ['NEX'] }[what]
  // With the same value, NEX holds now and then.
  const written = what === 'nex' && id % 2 === 0 ? value : `value${id}${long}`
  return ['SET', key, written, ...condition, ...(px === undefined ? [] : ['PX', String(px)])]
}

/** How much happened. */
export function countsOf(
  operations: readonly Operation[],
  peers: readonly Peer[],
  { last, first }: { readonly last: number; readonly first: number },
): Record<string, number> {
  const ended = operations.filter(({ end }) => end !== undefined)
  const rejected = ended.filter(operation => operation.rejected).length
  const told = peers.flatMap(({ watches }) => [...watches.values()].flatMap(watch => watch.told)).length
  const [asked, answered] = [operations.length, ended.length - rejected]
  return { asked, answered, rejected, told, messages: last, trimmed: first - 1 }
}

const textFrom = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
