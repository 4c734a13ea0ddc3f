import type { Duplex } from 'node:stream'
import { afterIo } from '../clock.js'

/** What is gathered before it leaves at the latest, and the largest piece that is worth a copy, bytes. */
const BLOCK = 65_536
const LARGEST_PIECE = 16_384

/**
 * Lets what is written in one turn of the event loop leave as one piece: one system call over TCP, one frame over
 * WebSocket. aedes writes a packet in some twenty pieces, and what a stream does for each of them is a third of a busy
 * broker's time.
 *
 * @param stream - whose methods are replaced
 */
export function coalesceWrites<S extends Duplex>(stream: S): S {
  const { write, end } = stream
  const send = (chunk: Buffer): unknown => Reflect.apply(write, stream, [chunk])
  let block = Buffer.allocUnsafe(0)
  let used = 0

  const flush = (): void => {
    if (used === 0) return
    const full = block.subarray(0, used)
    // What is written belongs to the stream, the rest of the block is still ours.
    block = block.subarray(used)
    used = 0
    if (!stream.destroyed) send(full)
  }
  const room = (bytes: number): void => {
    if (used + bytes <= block.length) return
    flush()
    block = Buffer.allocUnsafe(BLOCK)
  }
  const gather = (chunk: string | Uint8Array): void => {
    if (used === 0) afterIo(flush)
    // One UTF-16 unit becomes three bytes of UTF-8 at most.
    room(typeof chunk === 'string' ? 3 * chunk.length : chunk.length)
    if (typeof chunk === 'string') used += block.write(chunk, used)
    else {
      block.set(chunk, used)
      used += chunk.length
    }
  }
  Object.assign(stream, {
    write(chunk: string | Uint8Array, ...rest: unknown[]): boolean {
      const plain = rest.every(argument => argument === undefined || argument === 'utf8' || argument === 'utf-8')
      if (plain && chunk.length <= LARGEST_PIECE) gather(chunk)
      else {
        flush()
        Reflect.apply(write, stream, [chunk, ...rest])
      }
      return !stream.writableNeedDrain
    },
    end(...args: unknown[]): unknown {
      flush()
      return Reflect.apply(end, stream, args)
    },
  })
  return stream
}
