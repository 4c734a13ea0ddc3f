import type { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'

/** The tokens with which a key was written. Older tokens are stale. */
interface TokenHistory {
  readonly older: string | undefined
  readonly newest: string
}

export class FencedKeys {
  readonly #tokens = new Map<string, TokenHistory>()
  #count = 0

  /** Writes a key with a token newer than all earlier ones. */
  async write(client: StoreClient, name: string): Promise<void> {
    const key = `guarded/${name}`
    const newest = `${Date.now()}:${this.#count++}:${name}`
    const { text } = await client.request(command(`SET ${key} v`), {
      timestamp: `${Date.now()}:0:${name}`,
      fencingToken: newest,
    })
    if (text !== '+OK\r\n') throw new Error(`a write with the newest token was answered ${text}`)
    this.#tokens.set(key, { older: this.#tokens.get(key)?.newest, newest })
  }

  async findViolations(client: StoreClient): Promise<string[]> {
    const violations: string[] = []
    for (const [key, { older, newest }] of this.#tokens) {
      const reply = await this.#try(client, `SET ${key} v`, undefined)
      if (!isRejected(reply)) violations.push(`${key} was written without a token, after ${newest}`)
      if (older === undefined) continue
      if (!isRejected(await this.#try(client, `DEL ${key}`, older)))
        violations.push(`${key} was deleted with the token ${older}, after ${newest}`)
    }
    return violations
  }

  async #try(client: StoreClient, words: string, fencingToken: string | undefined): Promise<string> {
    const { text } = await client.request(command(words), { timestamp: `${Date.now()}:0:judge`, fencingToken })
    return text
  }
}

const isRejected = (text: string): boolean => /^-ERR .*fencing token/.test(text)
