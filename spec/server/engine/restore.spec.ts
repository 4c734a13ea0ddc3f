import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import { Engine, type KeyChange, type RestoreResult } from '../../../src/server/engine/engine.js'
import type { RestoredRecord } from '../../../src/server/engine/entry.js'
import { anyCodePoint } from '../../support/any-code-point.js'
import { effort } from '../../support/effort.js'
import { expire, handle, restore } from '../../support/engine-requests.js'
import { START } from '../../support/manual-clock.js'
import { isNewer } from '../../support/version.js'
import { bytes, command, resp3, textOf } from '../../support/words.js'

const execute = (engine: Engine<string>, line: string, now = START, fencingToken?: string) =>
  handle(engine, { payload: command(line), timestamp: `${now}:0:client`, fencingToken }, 'client', now)

interface Line {
  readonly value?: string
  readonly version?: string
  readonly fencingToken?: string
  readonly expiresAt?: number
}

const item = (key: string, { value = 'v', version, fencingToken, expiresAt }: Line = {}): RestoredRecord => ({
  key: bytes(key),
  value: bytes(value),
  version: version === undefined ? undefined : Hlc.parse(version),
  fencingToken: fencingToken === undefined ? undefined : Hlc.parse(fencingToken),
  expiresAt,
})

const dumpOf = (engine: Engine<string>): RestoredRecord[] =>
  Array.from(engine.records(), ([key, record]) => ({ key, ...record }))

const describeRecords = (engine: Engine<string>): Record<string, unknown> =>
  Object.fromEntries(
    Array.from(engine.records(), ([key, { value, version, fencingToken, expiresAt }]) => [
      textOf(key),
      { value: textOf(value), version: String(version), fencingToken: fencingToken && String(fencingToken), expiresAt },
    ]),
  )

const versionsOf = ({ changes }: RestoreResult): string[] => changes.map(({ version }) => String(version))

describe('Loading a dump', () => {
  it('versions that are newer than all assigned versions are kept, in order', () => {
    const engine = new Engine<string>()
    const restored = restore(engine, [item('b', { version: '7:0:S' }), item('a', { version: '5:1:S' })], START)
    expect(restored).toMatchObject({ loaded: 2, versionsKept: 2, expired: 0, deleted: 0 })
    expect(versionsOf(restored)).toEqual(['5:1:S', '7:0:S'])
    expect(isNewer(String(execute(engine, 'SET c v', 3).version), '7:0:S')).toBe(true)
  })

  it('records with an older or no version get a new one, newer than all kept versions', () => {
    const engine = new Engine<string>()
    const { version } = execute(engine, 'SET a v')
    const kept = `${START + 1_000}:3:S`
    const lines = [item('none'), item('old', { version: '5:0:S' }), item('same', { version: String(version) })]
    const restored = restore(engine, [...lines, item('new', { version: kept })], START)
    expect(restored).toMatchObject({ loaded: 4, versionsKept: 1 })
    expect(restored.changes.map(({ key }) => textOf(key))).toEqual(['new', 'old', 'same', 'none'])
    const [first, ...others] = versionsOf(restored)
    expect(first).toBe(kept)
    expect(others.every((other, at) => isNewer(other, [kept, ...others][at] ?? ''))).toBe(true)
  })

  it('versions in the far future or with an exhausted counter are replaced', () => {
    const engine = new Engine<string>()
    const versions = [`${START + 60_001}:0:S`, `${START}:4294967296:S`, '9007199254740991:9007199254740991:S']
    const restored = restore(
      engine,
      versions.map((version, at) => item(`k${at}`, { version })),
      START,
    )
    expect(restored).toMatchObject({ loaded: 3, versionsKept: 0 })
    expect(execute(engine, 'SET k v').reply).toEqual({ type: 'ok' })
  })

  it('the later of two records of the same key wins', () => {
    const engine = new Engine<string>()
    const twice = [item('k', { value: '1', version: '9:0:S' }), item('k', { value: '2', version: '5:0:S' })]
    expect(restore(engine, twice, START)).toMatchObject({ loaded: 1, versionsKept: 1 })
    expect(describeRecords(engine)).toMatchObject({ k: { value: '2', version: '5:0:S' } })
  })

  it('expired records are skipped, and other records keep their expiry', () => {
    const engine = new Engine<string>()
    execute(engine, 'SET over here')
    const lines = [item('over', { expiresAt: START }), item('k', { expiresAt: START + 1 })]
    expect(restore(engine, lines, START)).toMatchObject({ loaded: 1, expired: 1, changes: [{ key: bytes('k') }] })
    expect([Object.keys(describeRecords(engine)), engine.nextDeadline]).toEqual([['over', 'k'], START + 1])
    expect(expire(engine, START + 1)).toHaveLength(1)
  })

  it('a record without expiry makes its key permanent', () => {
    const engine = new Engine<string>()
    execute(engine, 'SET k v PX 10')
    restore(engine, [item('k')], START)
    expect(engine.nextDeadline).toBeUndefined()
  })

  it('a load requires no fencing token, and no token is replaced by an older token', () => {
    const engine = new Engine<string>()
    const [older, newer] = [`${START}:0:lock`, `${START}:1:lock`]
    execute(engine, 'SET a v', START, newer)
    execute(engine, 'SET b v', START, older)
    restore(engine, [item('a', { fencingToken: older }), item('b', { fencingToken: newer }), item('c')], START)
    expect(describeRecords(engine)).toMatchObject({ a: { fencingToken: newer }, b: { fencingToken: newer } })
    expect(execute(engine, 'SET b v', START, older).reply).toEqual({ type: 'error', code: 'fencing-token-stale' })
    expect(execute(engine, 'SET c v').reply).toEqual({ type: 'ok' })
  })

  it('other keys are deleted only with `replace`', () => {
    const engine = new Engine<string>()
    for (const line of ['SET a v', 'SET b v', 'SET c v PX 10']) execute(engine, line)
    expect(restore(engine, [item('b')], START)).toMatchObject({ loaded: 1, deleted: 0 })
    expect(engine.size).toBe(3)
    const restored = restore(engine, [item('b'), item('d')], START, true)
    expect(restored).toMatchObject({ loaded: 2, deleted: 2 })
    const told = restored.changes.map(({ key, notification }) => `${notification.op} ${textOf(key)}`)
    expect(told).toEqual(['set b', 'set d', 'delete a', 'delete c'])
    expect([Object.keys(describeRecords(engine)), engine.nextDeadline]).toEqual([['b', 'd'], undefined])
    expect(restore(engine, [], START, true)).toMatchObject({ loaded: 0, deleted: 2 })
  })

  it('a load that exceeds the limits changes nothing', () => {
    const engine = new Engine<string>({ maxKeys: 3 })
    for (const line of ['SET a 1', 'SET b 1']) execute(engine, line)
    const before = describeRecords(engine)
    const [old, more] = [item('a', { value: '2' }), [item('c'), item('d')]]
    expect(() => restore(engine, [old, ...more], START)).toThrow(expect.objectContaining({ code: 'quota-exceeded' }))
    expect(describeRecords(engine)).toEqual(before)
    expect(restore(engine, [old, item('c')], START)).toMatchObject({ loaded: 2 })
    expect(restore(engine, [...more, item('e')], START, true)).toMatchObject({ loaded: 3, deleted: 2 })
    const four = ['c', 'd', 'e', 'f'].map(key => item(key))
    expect(() => restore(engine, four, START, true)).toThrow(expect.objectContaining({ code: 'quota-exceeded' }))
  })

  it('a load copies the values, and counts created and deleted keys', () => {
    const engine = new Engine<string>()
    const line = item('k', { value: 'value' })
    restore(engine, [line], START)
    line.key.fill(0)
    line.value.fill(0)
    expect(describeRecords(engine)).toMatchObject({ k: { value: 'value' } })
    restore(engine, [item('k'), item('l')], START)
    expect(engine.keyspace).toBe(2)
    restore(engine, [], START, true)
    expect(engine.keyspace).toBe(4)
  })

  it('many thousands of keys are replaced in one load', { timeout: 60_000 }, () => {
    const count = effort(200_000, 10_000)
    const engine = new Engine<string>()
    const items = (count: number): RestoredRecord[] => Array.from({ length: count }, (_, at) => item(`k${at}`))
    expect(restore(engine, items(count), START)).toMatchObject({ loaded: count })
    expect(restore(engine, items(1), START, true)).toMatchObject({ loaded: 1, deleted: count - 1 })
    expect(engine.size).toBe(1)
  })

  it('loaded keys are listed by SCAN', () => {
    const engine = new Engine<string>()
    restore(
      engine,
      ['a', 'b'].map(key => item(key)),
      START,
    )
    const { reply } = handle(engine, { payload: command('SCAN *') }, 'client', START)
    expect(reply.type === 'page' && reply.keys.map(textOf)).toEqual(['a', 'b'])
  })
})

const key = fc.constantFrom('a', 'b', 'c', '\x00\xff', '')
const value = fc.oneof(
  fc.constantFrom('', 'x'),
  fc.string({ unit: anyCodePoint }).map(text => textOf(Buffer.from(text))),
)
const px = fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined })
const step = fc.record({
  verb: fc.constantFrom('SET', 'SET', 'SET', 'DEL'),
  key: key.filter(name => name !== ''),
  value,
  px,
  token: fc.option(fc.constantFrom(0, 5), { nil: undefined, freq: 3 }),
  wait: fc.constantFrom(0, 1, 20),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/**
 * Collects the versions that a watch of each key observes. Fails unless each version is newer than the previous one.
 */
class VersionObserver {
  readonly #seen = new Map<string, string>()

  observe(changes: readonly KeyChange[]): void {
    for (const { key: name, version } of changes) {
      const [id, next] = [textOf(name), String(version)]
      const last = this.#seen.get(id)
      if (last !== undefined) expect(isNewer(next, last), `${next} after ${last}`).toBe(true)
      this.#seen.set(id, next)
    }
  }
}

function live(
  engine: Engine<string>,
  history: readonly Step[],
  start: number,
  observer = new VersionObserver(),
): number {
  let now = start
  for (const { verb, key: name, value: content, px: life, token, wait } of history) {
    now += wait
    const words = verb === 'DEL' ? ['DEL', name] : ['SET', name, content, ...(life ? ['PX', String(life)] : [])]
    const fencingToken = token === undefined ? undefined : `${START + token}:0:lock`
    observer.observe(
      handle(engine, { payload: resp3(words), timestamp: `${now}:0:client`, fencingToken }, 'client', now).changes,
    )
  }
  return now
}

describe('A dump', () => {
  it('that is loaded into a new store reproduces the original', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.nat(50), (history, later) => {
        const [old, fresh] = [new Engine<string>(), new Engine<string>()]
        const now = live(old, history, START) + later
        expire(old, now)
        const { loaded, versionsKept, expired } = restore(fresh, dumpOf(old), now)
        expect(describeRecords(fresh)).toEqual(describeRecords(old))
        expect([loaded, versionsKept, expired]).toEqual([old.size, old.size, 0])
        expect(fresh.nextDeadline).toBe(old.nextDeadline)
        // The next change of any client is newer than all loaded versions.
        const changes = expire(old, now + 100).concat(expire(fresh, now + 100))
        for (const { version } of changes) {
          for (const { version: loadedVersion } of dumpOf(fresh)) {
            expect(isNewer(String(version), String(loadedVersion))).toBe(true)
          }
        }
      }),
      { numRuns: effort(500, 30) },
    )
  })

  it('loading a dump into a store in use never makes the version of a key older', () => {
    const some = fc.array(step, { maxLength: 12 })
    const histories = fc.tuple(some, some, some, some)
    const behind = fc.constantFrom(-50_000, -10, 0, 10, 50_000, 90_000)
    fc.assert(
      fc.property(histories, behind, fc.boolean(), ([other, before, between, after], ahead, replace) => {
        const [source, engine, observer] = [new Engine<string>(), new Engine<string>(), new VersionObserver()]
        live(source, other, START + ahead)
        let now = live(engine, before, START, observer)
        for (const history of [between, after]) {
          observer.observe(expire(engine, now))
          const { changes, loaded, expired } = restore(engine, dumpOf(source), now, replace)
          expect(loaded + expired).toBe(source.size)
          observer.observe(changes)
          now = live(engine, history, now, observer)
        }
        observer.observe(expire(engine, now + 1_000))
      }),
      { numRuns: effort(1_000, 60) },
    )
  })
})
