import { firstValueFrom } from 'rxjs'
import type { Entry, Key } from '../client/index.js'
import { utf8 } from '../core/util/bytes.js'
import type { KeyFacts } from '../server/console/contract.js'
import { askConsole, type ConsoleAddress, textOf } from './console-client.js'
import { EXIT, Failure } from './failure.js'
import type { KeyWord } from './key-text.js'
import { askAll } from './several.js'

/** What there is to tell of a key. */
export interface Row {
  readonly key: KeyWord
  readonly value: Uint8Array
  readonly version: string | undefined
  /** ms since 1970, by the store's clock; `undefined` for a key that stays, and for all when no console was asked. */
  readonly expiresAt: number | undefined
}

/** Keys that are asked for at a time. */
const BATCH = 128

/** Keys with what they hold, batch by batch; those that are deleted meanwhile are left out. */
export class Listing {
  /** Keys that are told. */
  seen = 0
  readonly #console: ConsoleAddress | undefined

  /** @param console - who knows when keys expire */
  constructor(console: ConsoleAddress | undefined) {
    this.#console = console
  }

  async *rowsOf(
    scan: AsyncIterable<Key<Uint8Array>>,
    wordOf: (key: Key<unknown>) => KeyWord,
  ): AsyncGenerator<readonly Row[], void> {
    let batch: Key<Uint8Array>[] = []
    for await (const key of scan) {
      batch.push(key)
      if (batch.length < BATCH) continue
      yield await this.#read(batch, wordOf)
      batch = []
    }
    yield await this.#read(batch, wordOf)
  }

  async #read(keys: readonly Key<Uint8Array>[], wordOf: (key: Key<unknown>) => KeyWord): Promise<readonly Row[]> {
    if (keys.length === 0) return []
    const [entries, expiry] = await Promise.all([readAll(keys), this.#expiryOf(keys)])
    const rows = keys.flatMap((key, index) => {
      const { value, version } = entries[index] ?? {}
      if (value === undefined) return []
      return [{ key: wordOf(key), value, version: version && String(version), expiresAt: expiry.get(key.id) }]
    })
    this.seen += rows.length
    return rows
  }

  async #expiryOf(keys: readonly Key<unknown>[]): Promise<ReadonlyMap<string, number | undefined>> {
    if (this.#console === undefined) return new Map()
    const body = utf8(JSON.stringify({ ids: keys.map(({ id }) => id) }))
    const answer = await textOf(await askConsole(this.#console, 'keys', [body]), Number.POSITIVE_INFINITY)
    return new Map(factsIn(answer).map(({ id, expiresAt }) => [id, expiresAt]))
  }
}

async function readAll(keys: readonly Key<Uint8Array>[]): Promise<readonly Entry<Uint8Array>[]> {
  const answers = await firstValueFrom(askAll(keys, key => key.get()))
  return answers.map(answer => {
    if ('error' in answer) throw answer.error
    return answer.result
  })
}

function factsIn(answer: string): readonly KeyFacts[] {
  const { keys }: { readonly keys?: readonly KeyFacts[] } = JSON.parse(answer)
  if (keys === undefined) throw new Failure(EXIT.failed, 'the console did not tell when keys expire')
  return keys
}
