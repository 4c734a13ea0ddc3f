import { describe, expect, it } from 'vitest'
import {
  type ScheduledWriter,
  SMALL_FRAME_BYTES,
  WRITE_BYTES_PER_TURN,
  WriteScheduler,
} from '../../../src/pubsub/hub/write-scheduler.js'
import { openHub } from '../support/open-hub.js'
import { RawPubSubClient } from '../support/raw-pubsub-client.js'

const LARGE = WRITE_BYTES_PER_TURN / 4

const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** A socket with messages of one size, which logs the messages it may write in each turn. */
class Writer implements ScheduledWriter {
  readonly #scheduler: WriteScheduler
  readonly #log: string[]
  readonly #name: string
  readonly #size: number
  #left: number

  constructor(scheduler: WriteScheduler, log: string[], name: string, count: number, size = LARGE) {
    this.#scheduler = scheduler
    this.#log = log
    this.#name = name
    this.#left = count
    this.#size = size
    this.resume()
  }

  resume(): void {
    while (this.#left > 0 && this.#scheduler.tryReserveWrite(this, this.#size)) {
      this.#left--
      this.#log.push(this.#name)
    }
  }

  endTurn(): void {
    this.#log.push(`${this.#name} leaves`)
  }
}

/** Returns the messages written immediately and in each of the next turns. */
async function writesPerTurn(log: string[], count: number): Promise<string[]> {
  const turns = [log.splice(0).join(' ')]
  while (turns.length < count) {
    await nextTurn()
    turns.push(log.splice(0).join(' '))
  }
  return turns
}

describe('a turn of the event loop', () => {
  it('a turn writes a limited number of bytes, and other sockets wait in order', async () => {
    const [scheduler, log]: [WriteScheduler, string[]] = [new WriteScheduler(), []]
    for (const name of 'abcdefghij') new Writer(scheduler, log, name, 1)
    expect(await writesPerTurn(log, 4)).toEqual(['a b c d', 'e f g h', 'i j', ''])
  })

  it('a socket with more to write queues behind the waiting sockets', async () => {
    const [scheduler, log]: [WriteScheduler, string[]] = [new WriteScheduler(), []]
    new Writer(scheduler, log, 'a', 10)
    new Writer(scheduler, log, 'b', 2)
    expect(await writesPerTurn(log, 5)).toEqual(['a a a a', 'a a a a', 'b b a a', '', ''])
  })

  it('small messages are written immediately, regardless of the queue', async () => {
    const [scheduler, log]: [WriteScheduler, string[]] = [new WriteScheduler(), []]
    for (const name of 'abcdef') new Writer(scheduler, log, name, 1)
    new Writer(scheduler, log, 'small', 2, SMALL_FRAME_BYTES)
    expect(await writesPerTurn(log, 2)).toEqual(['a b c d small small', 'e f'])
  })

  it('a message larger than the budget of a turn is written alone', async () => {
    const [scheduler, log]: [WriteScheduler, string[]] = [new WriteScheduler(), []]
    for (const name of 'abc') new Writer(scheduler, log, name, 1, 16 * WRITE_BYTES_PER_TURN)
    expect(await writesPerTurn(log, 4)).toEqual(['a', 'b', 'c', ''])
  })

  it('written data leaves at the end of the turn and frees the budget', async () => {
    const [scheduler, log]: [WriteScheduler, string[]] = [new WriteScheduler(), []]
    const first = new Writer(scheduler, log, 'a', 4)
    scheduler.add(first)
    new Writer(scheduler, log, 'b', 1)
    expect(await writesPerTurn(log, 3)).toEqual(['a a a a', 'a leaves b', ''])
  })
})

describe('a large message to a large group', () => {
  it('all members receive a large message in order, and the hub serves other clients in between', {
    tags: 'slow',
  }, async () => {
    const { hub } = await openHub()
    const members = await Promise.all(Array.from({ length: 24 }, () => RawPubSubClient.connect(hub.url)))
    for (const member of members) await member.join('g')
    const other = await RawPubSubClient.connect(hub.url)
    const text = 'x'.repeat(1_000_000)
    const texts = [text, 'short', text, 'end']
    for (const data of texts) hub.sendToGroup('g', data, { dataType: 'text' })
    await other.settled()
    expect(members.filter(({ messages }) => messages.length > 0).length).toBeLessThan(12)
    for (const member of members) {
      const lengths = (await member.received(4)).map(({ data }) => String(data).length)
      expect(lengths).toEqual(texts.map(({ length }) => length))
    }
  })
})
