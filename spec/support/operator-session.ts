import type { Observable } from 'rxjs'
import { StateStore } from '../../src/client/connect/client.js'
import type { ConnectionInfo, InboundMessage, OutboundRequest } from '../../src/client/session/session.js'
import { notificationPrefix } from '../../src/core/protocol/topics.js'
import { FakeSession } from './fake-session.js'
import { ManualClock } from './manual-clock.js'
import { bytes, resp3, textOf } from './words.js'

/** A request as it was sent to the broker, decoded without the code under test. */
export interface WireRequest {
  readonly verb: string
  readonly key: string
  /** The words after the key. */
  readonly rest: readonly string[]
  readonly properties: Readonly<Record<string, string>>
  /** The message expiry in seconds. */
  readonly expiry: number
}

export interface Answer {
  readonly payload: string
  readonly properties?: InboundMessage['userProperties']
}

/**
 * A function that returns the response to a request. `nth` counts requests from 0. A string that begins with `-`, `:`
 * or `$` is the payload. Any other string means success with version `1:0:{string}`. For GET, the string is also the
 * value.
 */
export type Script = (request: WireRequest, nth: number) => Observable<string | Answer>

/** A change of a key; a store of this package includes the reason of a deletion. */
export type Change = { readonly set: string } | 'delete' | { readonly gone: string }

/** A session of which the spec decides how the store responds. The broker does not identify subscriptions. */
export class ScriptedSession extends FakeSession {
  /** All requests, in the order in which they were sent. */
  readonly requests: WireRequest[] = []
  readonly #script: Script

  constructor(script: Script) {
    super()
    this.#script = script
  }

  /** The keys of the requests, in the order in which they were sent. */
  get keys(): string[] {
    return this.requests.map(({ key }) => key)
  }

  override connect(info: Partial<ConnectionInfo> = {}): void {
    super.connect({ hasSubscriptionIds: false, ...info })
  }

  override publish(request: OutboundRequest, done: (refusal: undefined) => void): void {
    super.publish(request, () => undefined)
    const wire = toWire(request)
    this.requests.push(wire)
    this.#script(wire, this.requests.length - 1).subscribe(answer => {
      const { payload, properties = {} } = typeof answer === 'string' ? answerOf(wire.verb, answer) : answer
      this.receive(request.responseTopic, bytes(payload), properties, request.correlationData)
    })
    done(undefined)
  }

  /** Sends a notification: `set` with the value, or `delete`. The version is `{version}:0:S`. */
  notify(key: string, change: Change, version: number): void {
    const words =
      typeof change === 'object' && 'set' in change ? ['NOTIFY', 'SET', 'VALUE', change.set] : ['NOTIFY', 'DELETE']
    this.receive(`${notificationPrefix(this.clientId)}${bytes(key).toString('hex').toUpperCase()}`, resp3(words), {
      __ts: `${version}:0:S`,
      ...(typeof change === 'object' && 'gone' in change && { reason: change.gone }),
    })
  }
}

/** Creates a client on a scripted session that is already connected, with a manual clock. */
export function fakeStore(script: Script): { session: ScriptedSession; store: StateStore; clock: ManualClock } {
  const clock = new ManualClock()
  const session = new ScriptedSession(script)
  const store = new StateStore(session, { clock, timeout: 10_000, maxQueued: 65_536, stopDelay: 0 })
  session.connect()
  return { session, store, clock }
}

function answerOf(verb: string, word: string): Answer {
  if (/^[-:$]/.test(word)) return { payload: `${word}\r\n` }
  const success = { SET: '+OK', GET: `$${word.length}\r\n${word}`, DEL: ':1', VDEL: ':1' }[verb]
  if (success === undefined) throw new Error(`The script knows no answer to ${verb}`)
  return { payload: `${success}\r\n`, properties: { __ts: `1:0:${word}` } }
}

function toWire({ payload, userProperties, messageExpiry }: OutboundRequest): WireRequest {
  const [verb = '', key = '', ...rest] = wordsOf(textOf(payload))
  return { verb, key, rest, properties: userProperties, expiry: messageExpiry }
}

// Parses text such as `*2\r\n$3\r\nGET\r\n$1\r\na\r\n`, in which a word may contain any bytes.
function wordsOf(payload: string): string[] {
  const words: string[] = []
  for (let at = payload.indexOf('$'); at >= 0 && at < payload.length; ) {
    const start = payload.indexOf('\r\n', at) + 2
    const end = start + Number(payload.slice(at + 1, start - 2))
    words.push(payload.slice(start, end))
    at = end + 2
  }
  return words
}
