import { concatBytes } from '../../src/base/bytes.js'
import type { Files, OpenFile } from '../../src/disk/files.js'

interface Content {
  bytes: Uint8Array
  /** What a power cut leaves. */
  flushed: Uint8Array
}

/** A disk in memory: what was not flushed may be lost, and any call may fail. */
export class MemoryDisk implements Files {
  /** By name, as they are now and as they would be after a power cut. */
  #now = new Map<string, Content>()
  #kept = new Map<string, Content>()
  calls = 0
  /** Raised by the calls for which it gives something; the number of the call and what it is. */
  fail: (call: number, what: string) => Error | undefined = () => undefined

  /** What is there when the process is killed: all that was written. */
  killed(): MemoryDisk {
    return this.#copy(this.#now, ({ bytes }) => bytes)
  }

  /** What is there after a power cut: what was flushed, and of what is different since as much as `part` says, by its length. */
  cut(part: (unflushed: number) => number): MemoryDisk {
    return this.#copy(this.#kept, ({ bytes, flushed }) => {
      const changed = bytes.findIndex((byte, at) => byte !== flushed[at])
      if (changed < 0) return flushed
      if (bytes.length === flushed.length && isOneSector(bytes)) return part(2) === 0 ? flushed : bytes
      const kept = changed + part(bytes.length - changed)
      return concatBytes([bytes.slice(0, kept), flushed.slice(kept)])
    })
  }

  /** A disk of which one file is something else. */
  with(name: string, bytes: Uint8Array | undefined): MemoryDisk {
    const other = this.killed()
    if (bytes === undefined) other.#now.delete(name)
    else other.#now.set(name, { bytes, flushed: bytes })
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
    const content = { bytes: new Uint8Array(0), flushed: new Uint8Array(0) }
    this.#now.set(name, content)
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
    this.#now.delete(from)
    this.#now.set(to, content)
  }

  async remove(name: string): Promise<void> {
    this.#call('remove')
    this.#now.delete(name)
  }

  async flush(): Promise<void> {
    this.#call('flush names')
    this.#kept = new Map(this.#now)
  }

  #file(content: Content): OpenFile {
    const write = (bytes: Uint8Array, at: number): void => {
      const longer = new Uint8Array(Math.max(content.bytes.length, at + bytes.length))
      longer.set(content.bytes)
      longer.set(bytes, at)
      content.bytes = longer
    }
    const put = (bytes: Uint8Array, at: number): void => {
      const error = this.fail(++this.calls, 'write')
      // A disk that is full has taken a part.
      if (error === undefined) write(bytes, at)
      else if (at > 0 || !isOneSector(bytes)) write(bytes.subarray(0, bytes.length >> 1), at)
      if (error !== undefined) throw error
    }
    const flush = (): void => {
      this.#call('flush')
      content.flushed = content.bytes.slice()
    }
    return {
      write: async (bytes, at) => put(bytes, at),
      writeNow: put,
      flush: async () => flush(),
      flushNow: flush,
      truncate: async length => {
        this.#call('truncate')
        content.bytes = content.bytes.slice(0, length)
      },
      read: async (at, length) => content.bytes.slice(at, at + length),
      size: async () => content.bytes.length,
      close: async () => undefined,
    }
  }

  #call(what: string): void {
    const error = this.fail(++this.calls, what)
    if (error !== undefined) throw error
  }

  #copy(files: ReadonlyMap<string, Content>, choose: (content: Content) => Uint8Array): MemoryDisk {
    const disk = new MemoryDisk()
    for (const [name, content] of files) {
      const bytes = choose(content).slice()
      disk.#now.set(name, { bytes, flushed: bytes })
    }
    disk.#kept = new Map(disk.#now)
    return disk
  }
}

/** A disk writes so little at the beginning of a file as a whole or not at all. */
const isOneSector = (bytes: Uint8Array): boolean => bytes.length <= 16

export const failure = (code: string): Error => Object.assign(new Error(code), { code })
