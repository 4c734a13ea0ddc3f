import type { Hlc } from '../../../src/core/hlc/hlc.js'
import type { Content, Incoming } from '../../../src/core/mqtt5/packets.js'
import type { Client } from '../../../src/core/mqtt5/peer.js'
import { PROPERTY, STATUS } from '../../../src/core/protocol/properties.js'
import { notificationPrefix } from '../../../src/core/protocol/topics.js'
import { bytes, resp3, textOf } from '../../support/words.js'
import type { RequestType } from './cluster-schedule.js'

export interface Operation {
  readonly id: number
  readonly key: string
  readonly words: readonly string[]
  readonly peer: Peer
  /** The position among all calls and results of all clients. */
  readonly start: number
  end: number | undefined
  /** The reply, or `undefined` if the store could not parse the request. */
  reply: string | undefined
  version: string | undefined
  position: string | undefined
  /** Whether the store reported that the operation was not executed and never will be. */
  isRejected: boolean
}

export interface Watch {
  readonly key: string
  /** The last version that the node had applied at registration. */
  readonly since: Hlc | undefined
  readonly notifications: { readonly version: string; readonly payload: string }[]
  /** The last version that the node had applied when the connection ended. */
  until: Hlc | undefined
}

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
    this.watches.get(key)?.notifications.push({ version, payload: textOf(content.payload) })
    if (!this.watches.has(key)) this.violations.push(`${this.clientId} was notified of a key that it does not watch`)
  }

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

export function receiveReply(
  operation: Operation,
  { payload, userProperties, commonProperties }: Content,
  end: number,
): void {
  if (operation.end !== undefined) operation.peer.violations.push(`request ${operation.id} was answered twice`)
  operation.end = end
  if (commonProperties?.[PROPERTY.status] !== String(STATUS.ok)) {
    operation.isRejected = true
    return
  }
  operation.reply = textOf(payload)
  operation.version = textFrom(userProperties?.[PROPERTY.timestamp])
  operation.position = textFrom(userProperties?.[PROPERTY.position])
}

/** @param value - the last written value that the client can know */
export function requestArguments(
  type: RequestType,
  key: string,
  id: number,
  px: number | undefined,
  value = 'none',
): string[] {
  if (type === 'get') return ['GET', key]
  if (type === 'del') return ['DEL', key]
  if (type === 'vdel') return ['VDEL', key, value]
  // Some requests are split into several messages.
  const padding = id % 7 === 0 ? 'x'.repeat(700) : ''
  const condition = { set: [], nx: ['NX'], nex: ['NEX'] }[type]
  // The value is sometimes the same, so that NEX applies.
  const written = type === 'nex' && id % 2 === 0 ? value : `value${id}${padding}`
  return ['SET', key, written, ...condition, ...(px === undefined ? [] : ['PX', String(px)])]
}

const textFrom = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
