/** A change that a store made. */
export interface Change {
  readonly key: string
  readonly op: 'set' | 'delete'
  readonly value: string | undefined
  /** The version, which is unknown for a deletion just before a store was killed. */
  version: string | undefined
  /** The number of the store instance, which increases when data is lost. */
  readonly instance: number
  /** The latest time at which the change was made, in milliseconds. */
  readonly at: number
  /** The earliest time at which the change was made, in milliseconds. */
  readonly earliest: number
}

/** All changes of all store instances, in order. */
export class History {
  readonly all: Change[] = []
  /** The positions of the changes with a version. There are several if instances that lost their data reused it. */
  readonly #positions = new Map<string, number[]>()
  readonly #latest = new Map<string, Change>()
  readonly #now: () => number
  instance = 0

  /** @param now - the milliseconds since the start, for users that need the times of changes */
  constructor(now: () => number = () => 0) {
    this.#now = now
  }

  /** Records a change unless another node has already made it. Returns the position of the change. */
  record(
    { key, op, value, version }: Pick<Change, 'key' | 'op' | 'value' | 'version'>,
    at: number = this.#now(),
    earliest: number = at,
  ): number {
    const known = this.#withVersion(version).find(position => this.all[position]?.instance === this.instance)
    if (known !== undefined) return known
    const position = this.all.length
    const change: Change = { key, op, value, version: undefined, instance: this.instance, at, earliest }
    this.all.push(change)
    this.#latest.set(key, change)
    if (version !== undefined) this.#setVersion(position, change, version)
    return position
  }

  /** Records the version of a deletion, which is the last change of its key. Returns whether the version was missing. */
  recordVersion(key: string, version: string): boolean {
    const change = this.#latest.get(key)
    if (change?.op !== 'delete' || change.version !== undefined || change.instance !== this.instance) return false
    this.#setVersion(this.all.lastIndexOf(change), change, version)
    return true
  }

  /** Returns the positions of the changes of a key with a version. */
  positionsOf(key: string, version: string): number[] {
    return this.#withVersion(version).filter(position => this.all[position]?.key === key)
  }

  /** Returns the position of the change with a version in the latest instance that used the version. */
  positionOf(version: string): number | undefined {
    return this.#withVersion(version).at(-1)
  }

  /** The names of all keys that have changed. */
  get keys(): string[] {
    return [...this.#latest.keys()]
  }

  /** Returns the last change of a key in the current instance. */
  lastOf(key: string): Change | undefined {
    const last = this.#latest.get(key)
    return last?.instance === this.instance ? last : undefined
  }

  /** Returns the position of the first change after a time. */
  firstAfter(time: number): number {
    let [low, high] = [0, this.all.length]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if ((this.all[middle]?.earliest ?? 0) > time) high = middle
      else low = middle + 1
    }
    return low
  }

  between(key: string, from: number, to: number): Change[] {
    return this.all.slice(from, to).filter(change => change.key === key)
  }

  #withVersion(version: string | undefined): readonly number[] {
    return (version !== undefined && this.#positions.get(version)) || []
  }

  #setVersion(position: number, change: Change, version: string): void {
    change.version = version
    this.#positions.set(version, [...this.#withVersion(version), position])
  }
}
