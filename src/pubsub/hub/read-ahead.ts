import { keepable } from '../../core/util/bytes.js'
import { CountedFifo } from '../../core/util/fifo.js'
import type { FrameData } from '../wire/frames.js'

/** Most bytes and frames read ahead of one client; most bytes of all clients together. */
const MOST_BYTES = 4 * 1024 * 1024
const MOST_FRAMES = 20_000
const MOST_TOGETHER = 64 * 1024 * 1024

/** What a frame takes besides its bytes, bytes. */
const OVERHEAD = 128

/** Bytes read ahead of all clients of a server. */
export class ReadAheadRoom {
  used = 0

  get full(): boolean {
    return this.used > MOST_TOGETHER
  }
}

/** Frames of a client that wait, in order. */
export class ReadAhead extends CountedFifo<FrameData> {
  readonly #room: ReadAheadRoom

  constructor(room: ReadAheadRoom) {
    super(
      ({ length }) => length + OVERHEAD,
      bytes => {
        room.used += bytes
      },
    )
    this.#room = room
  }

  /** Whether reading should stop. */
  get full(): boolean {
    return this.size > MOST_BYTES || this.length >= MOST_FRAMES || this.#room.full
  }

  // A small frame that is kept would keep everything that was read together with it.
  override push(frame: FrameData): void {
    super.push(typeof frame === 'string' ? frame : keepable(frame))
  }
}
