import { isNewer, partsOf } from './version.js'

interface Entry {
  readonly value: string
  readonly version: string
  readonly token: string | undefined
  readonly expiresAt: number
}

export interface NaiveRequest {
  readonly words: readonly string[]
  readonly timestamp: string | undefined
  readonly token: string | undefined
}

/** The expected response: the payload, and `new` if the response has a new version. */
export interface NaiveAnswer {
  readonly reply: string
  readonly version: string | undefined
}

const refusal = (text: string): NaiveAnswer => ({ reply: `-ERR ${text}\r\n`, version: undefined })
const TOO_FAR = 'too far in the future; ensure that the client and broker system clocks are synchronized'

/**
 * The rules of the protocol for well-formed requests, implemented as plainly as possible. The caller provides the
 * versions.
 */
export class NaiveStore {
  readonly #entries = new Map<string, Entry>()

  get size(): number {
    return this.#entries.size
  }

  /** Removes expired keys, and returns their names. */
  expire(now: number): string[] {
    const due = [...this.#entries].filter(([, { expiresAt }]) => expiresAt <= now).map(([key]) => key)
    for (const key of due) this.#entries.delete(key)
    return due.sort()
  }

  answer(request: NaiveRequest, now: number, given: string | undefined): NaiveAnswer {
    const { timestamp, token } = request
    const [verb = '', key = '', value = ''] = request.words
    const entry = this.#entries.get(key)
    if (verb === 'SET' && timestamp === undefined) return refusal('missing timestamp')
    if (timestamp !== undefined && partsOf(timestamp).wall > now + 60_000) {
      return refusal(`the request timestamp is ${TOO_FAR}`)
    }
    if (token !== undefined && partsOf(token).wall > now + 60_000) {
      return refusal(`the request fencing token timestamp is ${TOO_FAR}`)
    }
    if (verb === 'GET') {
      return entry ? { reply: `$${entry.value.length}\r\n${entry.value}\r\n`, version: entry.version } : absent('$-1')
    }
    if (entry?.token !== undefined) {
      if (token === undefined) return refusal('a fencing token is required for this request')
      if (isNewer(entry.token, token)) {
        return refusal('the request fencing token is a lower version than the fencing token protecting the resource')
      }
    }
    if (verb === 'SET') return this.#set(request, now, given)
    if (entry === undefined) return absent(':0')
    if (verb === 'VDEL' && entry.value !== value) return { reply: ':-1\r\n', version: entry.version }
    this.#entries.delete(key)
    return { reply: ':1\r\n', version: given }
  }

  #set({ words, token }: NaiveRequest, now: number, given: string | undefined): NaiveAnswer {
    const [, key = '', value = '', ...options] = words
    const entry = this.#entries.get(key)
    const px = options.indexOf('PX')
    const [condition, comparand = value] = px < 0 ? options : options.slice(0, px)
    const refused = condition === 'NX' || (condition === 'NEX' && entry?.value !== comparand)
    if (entry !== undefined && refused) return { reply: ':-1\r\n', version: entry.version }
    this.#entries.set(key, {
      value,
      version: given ?? '',
      token: token ?? entry?.token,
      expiresAt: px < 0 ? Number.POSITIVE_INFINITY : now + Number(options[px + 1]),
    })
    return { reply: '+OK\r\n', version: given }
  }
}

const absent = (reply: string): NaiveAnswer => ({ reply: `${reply}\r\n`, version: undefined })
