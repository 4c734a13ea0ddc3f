import type { Opened } from './connection.js'

/**
 * Parts of snapshots whose writers were killed, or went before they had tidied up: nobody would ever remove them. Those of
 * a writer that is at it are not told apart from them, so only what was there before a later one began may be removed, and
 * only when that is done: whoever has taken longer comes too late for his snapshot to count.
 */
export class Leftovers {
  readonly #opened: Opened
  #found: readonly string[] = []

  constructor(opened: Opened) {
    this.#opened = opened
  }

  /** Notes what there is now. */
  async find(): Promise<void> {
    const { manager, names } = this.#opened
    const filter = { subjects_filter: `$O.${names.bucket}.C.>` }
    const { state } = await manager.streams.info(`OBJ_${names.bucket}`, filter)
    this.#found = await this.#withoutSnapshot(Object.keys(state.subjects ?? {}))
  }

  /** Removes what was noted, but for what belongs to a snapshot by now. */
  async remove(): Promise<void> {
    const { manager, names } = this.#opened
    const left = this.#found.length === 0 ? [] : await this.#withoutSnapshot(this.#found)
    this.#found = []
    for (const filter of left) await manager.streams.purge(`OBJ_${names.bucket}`, { filter })
  }

  async #withoutSnapshot(subjects: readonly string[]): Promise<string[]> {
    const { snapshots, names } = this.#opened
    const whole = new Set((await snapshots.list()).map(({ nuid }) => `$O.${names.bucket}.C.${nuid}`))
    return subjects.filter(subject => !whole.has(subject))
  }
}
