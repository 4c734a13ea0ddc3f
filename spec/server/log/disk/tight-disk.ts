import type { Files, OpenFile } from '../../../../src/server/log/disk/files.js'
import { failure, type MemoryDisk } from './memory-disk.js'

/** A disk with limited space. A write that exceeds the space is partial. */
export class TightDisk implements Files {
  capacity: number
  readonly disk: MemoryDisk

  constructor(disk: MemoryDisk, capacity: number) {
    this.disk = disk
    this.capacity = capacity
  }

  get used(): number {
    return Array.from(this.disk.contents.values()).reduce((sum, { length }) => sum + length, 0)
  }

  async list(): Promise<readonly string[]> {
    return this.disk.list()
  }

  async create(name: string): Promise<OpenFile> {
    return this.#limited(await this.disk.create(name), 0)
  }

  async open(name: string): Promise<OpenFile> {
    const file = await this.disk.open(name)
    return this.#limited(file, await file.size())
  }

  async rename(from: string, to: string): Promise<void> {
    return this.disk.rename(from, to)
  }

  async remove(name: string): Promise<void> {
    return this.disk.remove(name)
  }

  async flush(): Promise<void> {
    return this.disk.flush()
  }

  #limited(file: OpenFile, size: number): OpenFile {
    let length = size
    const put = (bytes: Uint8Array, at: number): void => {
      const left = Math.max(0, this.capacity - this.used)
      const taken = bytes.subarray(0, Math.max(0, length + left - at))
      if (taken.length > 0) file.writeSync(taken, at)
      length = Math.max(length, at + taken.length)
      if (taken.length < bytes.length) throw failure('ENOSPC')
    }
    return {
      ...file,
      write: async (bytes, at) => put(bytes, at),
      writeSync: put,
      truncate: async to => {
        await file.truncate(to)
        length = to
      },
    }
  }
}
