import type { ClientSettings } from '../../src/client/connect/client.js'
import { StateStore } from '../../src/client/connect/client.js'
import type { ConnectionInfo } from '../../src/client/session/session.js'
import { notificationPrefix } from '../../src/core/protocol/topics.js'
import { encodeArray } from '../../src/core/resp3/encode.js'
import { utf8 } from '../../src/core/util/bytes.js'
import { ConnectionLostError } from '../../src/core/util/errors.js'
import { FakeSession } from './fake-session.js'
import { ManualClock } from './manual-clock.js'

/** A client whose store responds and notifies on demand within one turn, which makes reentrant handlers observable. */
export class ObedientStore {
  readonly clock = new ManualClock()
  readonly session = new FakeSession()
  readonly client: StateStore
  readonly #values = new Map<string, { readonly value: string; readonly version: number }>()
  #answered = 0
  #version = 0

  constructor(settings: Partial<ClientSettings> = {}) {
    const { clock } = this
    this.client = new StateStore(this.session, { clock, timeout: 1_000, maxQueued: 10_000, stopDelay: 0, ...settings })
  }

  /** All requests so far, such as `KEYNOTIFY a`. */
  get requests(): string[] {
    return this.session.published.map(({ request }) => inWords(request.payload).join(' '))
  }

  connect(info: Partial<ConnectionInfo> = {}): void {
    this.session.connect(info)
  }

  disconnect(): void {
    this.session.disconnect(new ConnectionLostError())
    this.#answered = this.session.published.length
  }

  /** Responds to requests in order, including requests that the responses cause. */
  answer(most = Number.POSITIVE_INFINITY): void {
    for (let n = 0; n < most && this.#answered < this.session.published.length; n++)
      this.#answer(this.session.at(this.#answered++))
  }

  /** Changes a value in the store without a notification. */
  put(key: string, value: string): number {
    this.#values.set(key, { value, version: ++this.#version })
    return this.#version
  }

  /** Restores an earlier value in the store, as if the store had responded at that time. */
  rewind(key: string, value: string, version: number): void {
    this.#values.set(key, { value, version })
  }

  /** Changes a value in the store and sends a notification. */
  changeAndNotify(key: string, value: string): void {
    this.notify(key, value, this.put(key, value))
  }

  /** Deletes all keys and forgets the requests. */
  forget(): void {
    this.#values.clear()
    this.session.published.length = 0
    this.#answered = 0
  }

  /** Sends a notification of a value with a version. */
  notify(key: string, value: string, version: number): void {
    const hex = Array.from(utf8(key), byte => byte.toString(16).padStart(2, '0'))
      .join('')
      .toUpperCase()
    const payload = encodeArray(['NOTIFY', 'SET', 'VALUE', value].map(utf8))
    const { session } = this
    const ids = session.subscriptionId === undefined ? [] : [session.subscriptionId]
    session.receive(
      `${notificationPrefix(session.clientId)}${hex}`,
      payload,
      { __ts: `${version}:0:S` },
      undefined,
      ids,
    )
  }

  #answer(published: ReturnType<FakeSession['at']>): void {
    published.acknowledge()
    const [verb, key = '', value = ''] = inWords(published.request.payload)
    const place = { __stat: '200', __ts: `${this.#version}:0:S`, __pos: `${this.#version}:0:S` }
    const known = this.#values.get(key)
    if (verb === 'SCAN') this.session.reply(published, utf8('*1\r\n*0\r\n'))
    else if (verb === 'SET') {
      const version = this.put(key, value)
      this.session.reply(published, utf8('+OK\r\n'), { __stat: '200', __ts: `${version}:0:S` })
    } else if (verb !== 'GET') this.session.reply(published, utf8('+OK\r\n'), place)
    else if (known === undefined) this.session.reply(published, utf8('$-1\r\n'), place)
    else {
      const payload = utf8(`$${known.value.length}\r\n${known.value}\r\n`)
      this.session.reply(published, payload, { __stat: '200', __ts: `${known.version}:0:S` })
    }
  }
}

// The lines are `*2`, `$3`, `GET`, `$1`, `a` and an empty line.
function inWords(payload: Uint8Array): string[] {
  const lines = new TextDecoder().decode(payload).split('\r\n').slice(0, -1)
  return lines.filter((_, i) => i > 0 && i % 2 === 0)
}
