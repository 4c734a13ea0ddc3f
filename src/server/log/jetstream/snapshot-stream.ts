import { StreamError } from '../cluster/stream.js'

/** Blocks as a stream of the platform, which pulls them one by one. */
export function readableOf(blocks: Iterable<Uint8Array>): {
  readonly readable: ReadableStream<Uint8Array>
  readonly abort: () => void
} {
  const iterator = blocks[Symbol.iterator]()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let ended = false
  const readable = new ReadableStream<Uint8Array>({
    start: own => {
      controller = own
    },
    pull: own => {
      const { done, value } = iterator.next()
      ended = done === true
      if (done) own.close()
      else own.enqueue(value)
    },
  })
  const abort = (): void => {
    if (ended) return
    ended = true
    controller?.error(new StreamError('lost', 'the snapshot is not wanted any more'))
  }
  return { readable, abort }
}

/** What a stream of the platform brings. */
export async function* bytesOf(readable: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = readable.getReader()
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value
  } finally {
    await reader.cancel()
  }
}
