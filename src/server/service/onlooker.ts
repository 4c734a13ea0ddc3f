import type { CommandError } from '../../core/protocol/parse-command.js'
import type { Answer, Applier, Change, Restoration } from '../engine/answer.js'

/** Hears what becomes of entries that others have asked for: what has changed alone matters here. */
export class Onlooker implements Applier {
  readonly #changed: (changes: readonly Change[]) => void

  constructor(changed: (changes: readonly Change[]) => void) {
    this.#changed = changed
  }

  expired(changes: readonly Change[]): void {
    this.#changed(changes)
  }

  answered(_: number, { changes }: Answer): void {
    if (changes.length > 0) this.#changed(changes)
  }

  loaded(_: number, outcome: Restoration | CommandError): void {
    if ('changes' in outcome) this.#changed(outcome.changes)
  }
}

/** Tells nobody. */
export const SILENT: Applier = new Onlooker(() => undefined)
