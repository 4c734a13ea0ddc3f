import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Engine } from '../../../src/server/engine/engine.js'
import { KeyOrder } from '../../../src/server/engine/key-order.js'
import { effort } from '../../support/effort.js'
import { expire, handle } from '../../support/engine-requests.js'
import { START } from '../../support/manual-clock.js'
import { bytes, resp3, textOf } from '../../support/words.js'

interface Page {
  readonly keys: readonly string[]
  readonly token: string | undefined
}

const execute = (engine: Engine<string>, words: readonly string[], now = START) =>
  handle(engine, { payload: resp3(words), timestamp: `${now}:0:client` }, 'client', now).reply

function pageOf(engine: Engine<string>, glob: string, token?: string, now = START): Page {
  const reply = execute(engine, ['SCAN', glob, ...(token === undefined ? [] : [token])], now)
  if (reply.type !== 'page') throw new Error(`no page: ${JSON.stringify(reply)}`)
  return { keys: reply.keys.map(textOf), token: reply.token && textOf(reply.token) }
}

function pagesOf(engine: Engine<string>, glob: string): Page[] {
  const pages = [pageOf(engine, glob)]
  for (let token = pages[0]?.token; token !== undefined; token = pages.at(-1)?.token)
    pages.push(pageOf(engine, glob, token))
  return pages
}

function filled(count: number, nameOf: (index: number) => string = index => `key${index}`): Engine<string> {
  const engine = new Engine<string>()
  for (let index = 0; index < count; index++) execute(engine, ['SET', nameOf(index), 'v'])
  return engine
}

describe('A SCAN page', () => {
  it('a page has at most 1,000 keys', () => {
    const sizes = (count: number): number[] => pagesOf(filled(count), '*').map(({ keys }) => keys.length)
    expect([sizes(999), sizes(1_000), sizes(1_001), sizes(2_500)]).toEqual([
      [999],
      [1_000],
      [1_000, 1],
      [1_000, 1_000, 500],
    ])
  })

  it('a page has at most 64 KiB, unless a single key is longer', () => {
    const engine = filled(10, index => String(index).repeat(20_000))
    expect(pagesOf(engine, '*').map(({ keys }) => keys.length)).toEqual([3, 3, 3, 1])
    execute(engine, ['SET', 'x'.repeat(100_000), 'v'])
    execute(engine, ['SET', 'short', 'v'])
    expect(pagesOf(engine, '*').map(({ keys }) => keys.length)).toEqual([3, 3, 3, 1, 1, 1])
  })

  it('a page without matches among 10,000 keys is empty but is not the last page', () => {
    const pages = pagesOf(filled(25_000), 'key24999')
    expect(pages.map(({ keys }) => keys.length)).toEqual([0, 0, 1])
  })

  it('a page ends early when matching is expensive', () => {
    const engine = filled(30, index => `${index}`.padEnd(20_000, 'x'))
    expect(pagesOf(engine, `*${'?'.repeat(1_000)}y`).length).toBeGreaterThan(2)
    expect(pagesOf(engine, 'y')).toHaveLength(1)
  })

  it('a key that is longer than the limits still gets a page', () => {
    expect(
      pagesOf(
        filled(2, index => `${index}`.repeat(5_000_000)),
        '*',
      ).map(({ keys }) => keys.length),
    ).toEqual([1, 1])
  })

  it('gaps of deleted keys count towards a page, and are closed when they outnumber the keys', { tags: 'slow' }, () => {
    const engine = filled(30_000)
    for (let index = 0; index < 14_000; index++) execute(engine, ['DEL', `key${index}`])
    expect(pagesOf(engine, 'none')).toHaveLength(3)
    for (let index = 14_000; index < 29_999; index++) execute(engine, ['DEL', `key${index}`])
    expect(pagesOf(engine, '*')).toEqual([{ keys: ['key29999'], token: undefined }])
  })
})

describe('A SCAN token', () => {
  it('a token of an earlier store is rejected', () => {
    const [old, fresh] = [filled(1_001), new Engine<string>()]
    const { token = '' } = pageOf(old, '*')
    for (let index = 0; index < 1_001; index++) execute(fresh, ['SET', `key${index}`, 'v'], START + 1)
    expect(execute(fresh, ['SCAN', '*', token], START + 1)).toEqual({ type: 'error', code: 'syntax-error' })
  })

  it('a token can be used twice', () => {
    const engine = filled(1_010)
    const { token } = pageOf(engine, '*')
    expect(pageOf(engine, '*', token)).toEqual(pageOf(engine, '*', token))
  })

  it('a corrupted token never makes the store throw', () => {
    const engine = filled(1_001)
    const { token = '' } = pageOf(engine, '*')
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 0, max: 255 }), fc.nat(), (at, code, end) => {
        const damaged = bytes(token)
        damaged[at % damaged.length] = code
        const sent = textOf(damaged.subarray(0, 1 + (end % damaged.length)))
        expect(['page', 'error']).toContain(execute(engine, ['SCAN', '*', sent]).type)
      }),
      { numRuns: effort(2_000, 60) },
    )
  })
})

describe('A scan during changes', () => {
  const name = fc.integer({ min: 0, max: 40 }).map(index => `${index}`.padEnd(9_000, '.'))
  const act = fc.oneof(
    { weight: 3, arbitrary: name.map(key => ['SET', key, 'v']) },
    { weight: 1, arbitrary: name.map(key => ['SET', key, 'v', 'PX', '2']) },
    { weight: 3, arbitrary: name.map(key => ['DEL', key]) },
  )
  const acts = fc.array(act, { maxLength: 60 })
  const existing = (engine: Engine<string>, names: Iterable<string>): string[] =>
    Array.from(names).filter(key => engine.peek(bytes(key)) !== undefined)

  it('a scan returns every key that exists throughout the scan, and no key twice', () => {
    fc.assert(
      fc.property(acts, fc.array(acts, { maxLength: 12 }), (before, between) => {
        const engine = new Engine<string>()
        for (const words of before) execute(engine, words)
        let constant = existing(engine, new Set(before.map(([, key = '']) => key)))
        const started = new Set(constant)
        const found: string[] = []
        let [page, now] = [pageOf(engine, '*'), START]
        for (const round of [...between, ...Array<string[][]>(20).fill([])]) {
          found.push(...page.keys)
          for (const words of round) {
            execute(engine, words, now)
            constant = existing(engine, constant)
          }
          expire(engine, ++now)
          constant = existing(engine, constant)
          if (page.token === undefined) break
          page = pageOf(engine, '*', page.token, now)
        }
        expect(page.token).toBeUndefined()
        expect(constant.filter(key => !found.includes(key))).toEqual([])
        expect(new Set(found).size).toBe(found.length)
        expect(found.filter(key => !started.has(key))).toEqual([])
      }),
      { numRuns: effort(300, 15) },
    )
  })

  it('a scan ends even if keys are added faster than it reads', () => {
    const engine = filled(3_000)
    let [page, pages] = [pageOf(engine, '*'), 1]
    for (; page.token !== undefined; pages++) {
      for (let index = 0; index < 2_000; index++) execute(engine, ['SET', `new${pages}-${index}`, 'v'])
      page = pageOf(engine, '*', page.token)
    }
    expect(pages).toBe(3)
  })
})

describe('KeyOrder', () => {
  it('after a random history, the order equals a sorted list', () => {
    const order = new KeyOrder<string>()
    const list: { readonly number: number; readonly key: string }[] = []
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat(), { freq: 3 }), { maxLength: 300 }), fc.nat(), (history, start) => {
        for (const remove of history) {
          const at = remove === null ? -1 : remove % Math.max(1, list.length)
          const [gone] = at < 0 ? [] : list.splice(at, 1)
          if (gone) for (let twice = 0; twice < 2; twice++) order.remove(gone.number)
          else list.push({ number: order.add(`${order.last + 1}`), key: `${order.last}` })
        }
        const seen: string[] = []
        const from = start % (order.last + 2)
        const rest = order.walk(from, order.last, Number.POSITIVE_INFINITY, key => seen.push(key) > 0)
        expect(rest).toBeUndefined()
        expect(seen).toEqual(list.filter(({ number }) => number >= from).map(({ key }) => key))
      }),
    )
  })

  it('a walk resumes at the position at which it stopped', () => {
    const order = new KeyOrder<string>()
    for (const key of 'abcdef') order.add(key)
    const seen: string[] = []
    const visit = (key: string): boolean => key !== 'd' && seen.push(key) > 0
    expect(order.walk(0, 6, 2, visit)).toBe(3)
    expect(order.walk(3, 6, 9, visit)).toBe(4)
    expect(order.walk(3, 3, 9, visit)).toBeUndefined()
    expect(seen).toEqual(['a', 'b', 'c', 'c'])
  })
})
