import type { RawClient } from '../../support/raw-client.js'
import { command } from '../../support/words.js'

/** Tokens a key was written with, and answered; the older one is of no use any more. */
interface Guard {
  readonly older: string | undefined
  readonly newest: string
}

/** Keys that are written with fencing tokens, each by one client. */
export class Guards {
  readonly #guards = new Map<string, Guard>()
  #count = 0

  /** Writes with a token that is newer than all before. */
  async write(client: RawClient, name: string): Promise<void> {
    const key = `guarded/${name}`
    const newest = `${Date.now()}:${this.#count++}:${name}`
    const { text } = await client.request(command(`SET ${key} v`), {
      timestamp: `${Date.now()}:0:${name}`,
      fencingToken: newest,
    })
    if (text !== '+OK\r\n') throw new Error(`a write with the newest token was answered ${text}`)
    this.#guards.set(key, { older: this.#guards.get(key)?.newest, newest })
  }

  /** What is not as it has to be, in words. */
  async judge(client: RawClient): Promise<string[]> {
    const complaints: string[] = []
    for (const [key, { older, newest }] of this.#guards) {
      const without = await this.#try(client, `SET ${key} v`, undefined)
      if (!isRefused(without)) complaints.push(`${key} was written without a token, after ${newest}`)
      if (older === undefined) continue
      if (!isRefused(await this.#try(client, `DEL ${key}`, older)))
        complaints.push(`${key} was deleted with the token ${older}, after ${newest}`)
    }
    return complaints
  }

  async #try(client: RawClient, words: string, fencingToken: string | undefined): Promise<string> {
    const { text } = await client.request(command(words), { timestamp: `${Date.now()}:0:judge`, fencingToken })
    return text
  }
}

const isRefused = (text: string): boolean => /^-ERR .*fencing token/.test(text)
