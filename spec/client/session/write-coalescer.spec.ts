import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { WriteCoalescer } from '../../../src/client/session/write-coalescer.js'

/** Creates a stream that records each write as one system call. */
function recordingStream() {
  const calls: string[] = []
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      calls.push(String(chunk))
      done()
    },
    writev: (chunks, done) => {
      calls.push(chunks.map(({ chunk }) => String(chunk)).join('|'))
      done()
    },
  })
  return { stream, calls }
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const turn = (): Promise<void> => new Promise(resolve => setImmediate(() => setImmediate(resolve)))

describe('WriteCoalescer', () => {
  it('packets that are written in one turn leave as one chunk', async () => {
    const { stream, calls } = recordingStream()
    const coalescer = new WriteCoalescer()
    for (const packet of ['a', 'b', 'c']) coalescer.add(stream, bytes(packet))
    expect(calls).toEqual([])
    await turn()
    coalescer.add(stream, bytes('d'))
    await turn()
    expect(calls).toEqual(['abc', 'd'])
  })

  it('other writes to the stream are held back and leave together with the packets', async () => {
    const { stream, calls } = recordingStream()
    const coalescer = new WriteCoalescer()
    coalescer.hold(stream)
    stream.write('ack1')
    stream.write('ack2')
    coalescer.add(stream, bytes('a'))
    await turn()
    expect(calls).toEqual(['ack1|ack2|a'])
  })

  it('large amounts of data are written before the end of the turn', async () => {
    const { stream, calls } = recordingStream()
    const coalescer = new WriteCoalescer()
    const packet = bytes('x'.repeat(3_000))
    for (let i = 0; i < 4; i++) coalescer.add(stream, packet)
    expect(calls.map(({ length }) => length)).toEqual([6_000])
    await turn()
    expect(calls.map(({ length }) => length)).toEqual([6_000, 6_000])
  })

  it('flush writes immediately, and nothing is written twice', async () => {
    const { stream, calls } = recordingStream()
    const coalescer = new WriteCoalescer()
    coalescer.add(stream, bytes('a'))
    coalescer.flush()
    expect(calls).toEqual(['a'])
    await turn()
    expect(calls).toEqual(['a'])
  })

  it('packets of one stream never reach another stream, as after a reconnect', async () => {
    const [first, second] = [recordingStream(), recordingStream()]
    const coalescer = new WriteCoalescer()
    coalescer.add(first.stream, bytes('a'))
    coalescer.add(second.stream, bytes('b'))
    await turn()
    expect([first.calls, second.calls]).toEqual([['a'], ['b']])
    expect([first.stream.writableCorked, second.stream.writableCorked]).toEqual([0, 0])
  })

  it('streams without `cork` are supported', async () => {
    const calls: string[] = []
    const coalescer = new WriteCoalescer()
    coalescer.add({ write: chunk => calls.push(new TextDecoder().decode(chunk)) }, bytes('a'))
    await turn()
    expect(calls).toEqual(['a'])
  })
})
