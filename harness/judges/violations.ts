/** The limits on the violations shown, per kind and in total. The others are only counted. */
const MAX_PER_KIND = 4
const MOST_SHOWN = 20

export class Violations {
  #shown: string[] = []
  #counts: Map<string, number> = new Map()
  #onShown

  /** @param onShown - called immediately for each violation that is shown at the end */
  constructor(onShown: (text: string) => void = () => undefined) {
    this.#onShown = onShown
  }

  get count() {
    return Array.from(this.#counts.values()).reduce((sum, count) => sum + count, 0)
  }

  add(kind: string, detail: unknown) {
    const earlier = this.#counts.get(kind) ?? 0
    this.#counts.set(kind, earlier + 1)
    if (earlier >= MAX_PER_KIND || this.#shown.length >= MOST_SHOWN) return
    const text = detail instanceof Error ? (detail.stack ?? String(detail)) : String(detail)
    this.#shown.push(`${kind}: ${text}`)
    this.#onShown(`${kind}: ${text}`)
  }

  get lines() {
    const { count } = this
    if (count === 0) return []
    const kinds = Array.from(this.#counts, ([kind, times]) => `${times} x ${kind}`).join(', ')
    return [`${count} violations: ${kinds}`, ...this.#shown.map(line => `  ${line}`)]
  }
}
