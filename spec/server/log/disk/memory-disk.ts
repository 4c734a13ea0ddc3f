import type { Files, OpenFile } from '../../../../src/server/log/disk/files.js'

/**
 * The number of bytes that the disk writes atomically. It is smaller than a real sector, so that a short log has more
 * possible states after a power cut.
 */
const SECTOR_BYTES = 64

/** An inode: the content that programs read, and the content on the medium. */
interface Content {
  bytes: Uint8Array
  durable: Uint8Array
  /** The sectors that the next flush writes. A failed flush discards them, as Linux does. */
  dirty: Set<number>
  /** The truncated length. The copy on the medium may still be longer. */
  truncatedTo: number | undefined
}

type Names = Map<string, Content>

/** A name that was created, removed, or both. */
interface NameChange {
  readonly removed?: string
  readonly made?: readonly [name: string, content: Content]
}

/**
 * A disk in memory with a page cache. Any call may fail, and the process may be killed. After a power cut, any subset
 * of the unflushed sectors remains, files may have any length between the old and the new one, and the first changes of
 * names remain, up to any point.
 */
export class MemoryDisk implements Files {
  #now: Names = new Map()
  /** The names that survive a power cut, and the later changes. */
  #durableNames: Names = new Map()
  #changes: readonly NameChange[] = []
  calls = 0
  /** Files that are open in this process. */
  readonly openFiles = new Set<OpenFile>()
  /** Returns the error of a call, or `undefined` if the call succeeds. */
  fail: (call: number, operation: string) => Error | undefined = () => undefined
  /** Returns a number in [0, 1) that decides which sectors a failed flush writes. */
  chance: () => number = () => 0

  /**
   * Returns the disk as the next process finds it after this process was killed. A power cut can still lose unflushed
   * data.
   */
  killed(): MemoryDisk {
    return this.#copy(this.#now, this.#durableNames, this.#changes, content => ({
      bytes: content.bytes.slice(),
      durable: content.durable.slice(),
      dirty: new Set(content.dirty),
      truncatedTo: content.truncatedTo,
    }))
  }

  cut(chance: () => number): MemoryDisk {
    const names = new Map(this.#durableNames)
    for (const change of this.#changes.slice(0, Math.round(chance() * this.#changes.length))) apply(change, names)
    return this.#copy(names, names, [], content => durable(afterCut(content, chance)))
  }

  with(name: string, bytes: Uint8Array | undefined): MemoryDisk {
    const other = this.killed()
    for (const names of [other.#now, other.#durableNames]) {
      if (bytes === undefined) names.delete(name)
      else names.set(name, durable(bytes.slice()))
    }
    return other
  }

  get contents(): ReadonlyMap<string, Uint8Array> {
    return new Map(Array.from(this.#now, ([name, { bytes }]) => [name, bytes]))
  }

  async list(): Promise<readonly string[]> {
    return [...this.#now.keys()].sort()
  }

  async create(name: string): Promise<OpenFile> {
    this.#call('create')
    const before = this.#now.get(name)
    if (before !== undefined) {
      truncate(before, 0)
      return this.#file(before)
    }
    const content = durable(new Uint8Array(0))
    this.#change({ made: [name, content] })
    return this.#file(content)
  }

  async open(name: string): Promise<OpenFile> {
    this.#call('open')
    const content = this.#now.get(name)
    if (content === undefined) throw Object.assign(new Error(`no file ${name}`), { code: 'ENOENT' })
    return this.#file(content)
  }

  async rename(from: string, to: string): Promise<void> {
    this.#call('rename')
    const content = this.#now.get(from)
    if (content === undefined) throw new Error(`no file ${from}`)
    this.#change({ removed: from, made: [to, content] })
  }

  async remove(name: string): Promise<void> {
    this.#call('remove')
    this.#change({ removed: name })
  }

  async flush(): Promise<void> {
    this.#call('flush names')
    this.#durableNames = new Map(this.#now)
    this.#changes = []
  }

  #change(change: NameChange): void {
    apply(change, this.#now)
    this.#changes = [...this.#changes, change]
  }

  #file(content: Content): OpenFile {
    const put = (bytes: Uint8Array, at: number): void => {
      const error = this.fail(++this.calls, 'write')
      // A full disk still writes a part of the bytes.
      if (error === undefined) write(content, bytes, at)
      else if (at > 0 || bytes.length > 16) write(content, bytes.subarray(0, bytes.length >> 1), at)
      if (error !== undefined) throw error
    }
    const flush = (): void => {
      const error = this.fail(++this.calls, 'flush')
      if (error === undefined) content.durable = afterFlush(content, () => 1)
      else content.durable = afterCut(content, this.chance)
      content.dirty.clear()
      if (error !== undefined) throw error
      content.truncatedTo = undefined
    }
    const file: OpenFile = {
      write: async (bytes, at) => put(bytes, at),
      writeSync: put,
      flush: async () => flush(),
      flushSync: flush,
      truncate: async length => {
        this.#call('truncate')
        truncate(content, length)
      },
      read: async (at, length) => content.bytes.slice(at, at + length),
      size: async () => content.bytes.length,
      close: async () => void this.openFiles.delete(file),
    }
    this.openFiles.add(file)
    return file
  }

  #call(operation: string): void {
    const error = this.fail(++this.calls, operation)
    if (error !== undefined) throw error
  }

  #copy(
    now: Names,
    durableNames: Names,
    changes: readonly NameChange[],
    copy: (content: Content) => Content,
  ): MemoryDisk {
    const copies = new Map<Content, Content>()
    const copied = (content: Content): Content => {
      const made = copies.get(content) ?? copy(content)
      copies.set(content, made)
      return made
    }
    const copiedNames = (names: Names): Names => new Map(Array.from(names, ([name, it]) => [name, copied(it)]))
    const disk = new MemoryDisk()
    disk.#now = copiedNames(now)
    disk.#durableNames = copiedNames(durableNames)
    disk.#changes = changes.map(({ made, ...rest }) =>
      made === undefined ? rest : { ...rest, made: [made[0], copied(made[1])] },
    )
    return disk
  }
}

function apply({ removed, made }: NameChange, names: Names): void {
  if (removed !== undefined) names.delete(removed)
  if (made !== undefined) names.set(...made)
}

const durable = (bytes: Uint8Array): Content => ({
  bytes,
  durable: bytes.slice(),
  dirty: new Set(),
  truncatedTo: undefined,
})

function write(content: Content, bytes: Uint8Array, at: number): void {
  const longer = resized(content.bytes, Math.max(content.bytes.length, at + bytes.length))
  longer.set(bytes, at)
  content.bytes = longer
  for (let sector = Math.floor(at / SECTOR_BYTES); sector * SECTOR_BYTES < at + bytes.length; sector++)
    content.dirty.add(sector)
}

function truncate(content: Content, length: number): void {
  content.bytes = content.bytes.slice(0, length)
  content.truncatedTo = Math.min(content.truncatedTo ?? length, length)
  for (const sector of content.dirty) if (sector * SECTOR_BYTES >= length) content.dirty.delete(sector)
}

/** Returns the medium after a write of the dirty sectors for which `chance` returns at least 0.5. */
function afterFlush({ bytes, durable, dirty, truncatedTo }: Content, chance: () => number): Uint8Array {
  const after = resized(durable.subarray(0, truncatedTo), bytes.length)
  for (const sector of dirty) {
    if (chance() >= 0.5)
      after.set(bytes.subarray(sector * SECTOR_BYTES, (sector + 1) * SECTOR_BYTES), sector * SECTOR_BYTES)
  }
  return after
}

/**
 * Returns the medium after a power cut or a failed flush, with any subset of the sectors and any length between the old
 * and the new one.
 */
function afterCut(content: Content, chance: () => number): Uint8Array {
  const { bytes, durable, truncatedTo } = content
  if (truncatedTo !== undefined && chance() < 0.5) return durable
  const after = afterFlush(content, chance)
  const least = Math.min(durable.length, truncatedTo ?? durable.length)
  const sectors = Math.round((chance() * (bytes.length - least)) / SECTOR_BYTES)
  return after.subarray(0, Math.min(least + sectors * SECTOR_BYTES, bytes.length))
}

function resized(bytes: Uint8Array, length: number): Uint8Array {
  const other = new Uint8Array(length)
  other.set(bytes.subarray(0, length))
  return other
}

export const failure = (code: string): Error => Object.assign(new Error(code), { code })
