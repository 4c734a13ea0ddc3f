import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { WriteCoalescer } from '../../../src/client/session/publisher.js'

/** A stream that notes each write that reaches it, as a system call would be. */
function noting() {
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

describe('the outbox', () => {
  it('lets what is added in one turn leave as one piece', async () => {
    const { stream, calls } = noting()
    const outbox = new WriteCoalescer()
    for (const packet of ['a', 'b', 'c']) outbox.add(stream, bytes(packet))
    expect(calls).toEqual([])
    await turn()
    outbox.add(stream, bytes('d'))
    await turn()
    expect(calls).toEqual(['abc', 'd'])
  })

  it('holds back what others write meanwhile, so that it leaves together', async () => {
    const { stream, calls } = noting()
    const outbox = new WriteCoalescer()
    outbox.hold(stream)
    stream.write('ack1')
    stream.write('ack2')
    outbox.add(stream, bytes('a'))
    await turn()
    expect(calls).toEqual(['ack1|ack2|a'])
  })

  it('does not wait for the end of the turn with much', async () => {
    const { stream, calls } = noting()
    const outbox = new WriteCoalescer()
    const packet = bytes('x'.repeat(3_000))
    for (let i = 0; i < 4; i++) outbox.add(stream, packet)
    expect(calls.map(({ length }) => length)).toEqual([6_000])
    await turn()
    expect(calls.map(({ length }) => length)).toEqual([6_000, 6_000])
  })

  it('flushes on demand, and not again', async () => {
    const { stream, calls } = noting()
    const outbox = new WriteCoalescer()
    outbox.add(stream, bytes('a'))
    outbox.flush()
    expect(calls).toEqual(['a'])
    await turn()
    expect(calls).toEqual(['a'])
  })

  it('keeps the packets of one stream from another, as after a reconnect', async () => {
    const [first, second] = [noting(), noting()]
    const outbox = new WriteCoalescer()
    outbox.add(first.stream, bytes('a'))
    outbox.add(second.stream, bytes('b'))
    await turn()
    expect([first.calls, second.calls]).toEqual([['a'], ['b']])
    expect([first.stream.writableCorked, second.stream.writableCorked]).toEqual([0, 0])
  })

  it('works with a stream that cannot be corked', async () => {
    const calls: string[] = []
    const outbox = new WriteCoalescer()
    outbox.add({ write: chunk => calls.push(new TextDecoder().decode(chunk)) }, bytes('a'))
    await turn()
    expect(calls).toEqual(['a'])
  })
})
