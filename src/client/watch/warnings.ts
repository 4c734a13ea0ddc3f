/** What a warning is about; each is given once for a client. */
export type WarningKind = 'glob' | 'lease'

/** Tells developers once, on the console, of what is allowed and is hardly what they mean. */
export class Warnings {
  readonly #given = new Set<WarningKind>()

  readonly warn = (kind: WarningKind, words: string): void => {
    if (this.#given.has(kind)) return
    this.#given.add(kind)
    console.warn(`rx-statestore: ${words}`)
  }
}

/** What a glob is hardly meant to be, in words: one of MQTT, or one that fits a single key. */
export function doubtOf(glob: string | Uint8Array): string | undefined {
  // With a backslash somebody knows what a wildcard is.
  if (typeof glob !== 'string' || /[*?[\\]/.test(glob)) return undefined
  const meant = `${glob.replace(/(^|\/)[#+](?=\/|$)/g, '$1*')}`
  if (meant !== glob) return `\`#\` and \`+\` are no wildcards in the glob \`${glob}\`: write \`${meant}\``
  const longer = `${glob}*`
  return `the glob \`${glob}\` fits one key alone: for all keys that begin with it write \`${longer}\``
}
