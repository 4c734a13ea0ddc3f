import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeReply } from '../../../src/core/protocol/replies.js'
import { type CommandResult, Engine } from '../../../src/server/engine/engine.js'
import { effort } from '../../support/effort.js'
import { expire, handle } from '../../support/engine-requests.js'
import { START } from '../../support/manual-clock.js'
import { isNewer } from '../../support/version.js'
import { bytes, command, resp3, textOf } from '../../support/words.js'

const execute = (engine: Engine<string>, line: string, now = START, timestamp = `${now}:0:client`): CommandResult =>
  handle(engine, { payload: command(line), timestamp }, 'client', now)

const textOfReply = ({ reply }: CommandResult): string => textOf(encodeReply(reply))

describe('Engine', () => {
  it('a new engine has no keys', () => {
    const engine = new Engine<string>()
    expect([engine.size, engine.nextDeadline, engine.watchers.count]).toEqual([0, undefined, 0])
    expect(expire(engine, START)).toEqual([])
  })

  it('peek returns the record of a key', () => {
    const engine = new Engine<string>()
    const { version } = execute(engine, 'SET k v PX 100')
    expect(engine.peek(bytes('k'))).toMatchObject({ version, fencingToken: undefined, expiresAt: START + 100 })
    expect(textOf(engine.peek(bytes('k'))?.value ?? bytes('nothing'))).toBe('v')
    expect(engine.peek(bytes('other'))).toBeUndefined()
  })

  it('a read of an absent key returns the last version of any key as its position', () => {
    const engine = new Engine<string>()
    const { version } = execute(engine, 'SET k v')
    expect(execute(engine, 'GET other')).toMatchObject({ position: version, version: undefined })
    expect(execute(engine, 'GET k').position).toBeUndefined()
    const [deleted] = execute(engine, 'DEL k').changes
    expect(execute(engine, 'GET k').position).toBe(deleted?.version)
  })

  it('the next deadline changes with SETs, renewals and deletions', () => {
    const engine = new Engine<string>()
    const deadlines = [
      'SET a v PX 300',
      'SET b v PX 100',
      'SET c v PX 200',
      'SET b v',
      'DEL c',
      'SET a v PX 50',
      'DEL a',
    ]
    const seen = deadlines.map(line => {
      execute(engine, line)
      return engine.nextDeadline === undefined ? undefined : engine.nextDeadline - START
    })
    expect(seen).toEqual([300, 100, 100, 200, 300, 50, undefined])
  })

  it('thousands of keys with the same deadline expire in one entry, each with a separate version', () => {
    const engine = new Engine<string>()
    for (let i = 0; i < 5_000; i++) execute(engine, `SET key${i} v PX 1000`)
    expect(expire(engine, START + 999)).toEqual([])
    const changes = expire(engine, START + 1_000)
    expect(new Set(changes.map(({ key }) => textOf(key))).size).toBe(5_000)
    expect(changes.every(({ notification }) => notification.op === 'delete')).toBe(true)
    const versions = changes.map(({ version }) => String(version))
    expect(versions.every((version, i) => isNewer(version, versions[i - 1] ?? `${START}:5000:StateStore`))).toBe(true)
    expect([engine.size, engine.nextDeadline, expire(engine, START + 2_000).length]).toEqual([0, undefined, 0])
  })

  it('an overdue expiry is reported before the change of the request that detects it', () => {
    const engine = new Engine<string>()
    execute(engine, 'SET old v PX 10')
    const { changes, version } = execute(engine, 'SET new v', START + 50)
    expect(changes.map(({ key, notification }) => [textOf(key), notification.op])).toEqual([
      ['old', 'delete'],
      ['new', 'set'],
    ])
    expect(changes[1]?.version).toBe(version)
  })

  it('an overdue expiry is reported together with the reply to an invalid command', () => {
    const engine = new Engine<string>()
    execute(engine, 'SET old v PX 10')
    const answer = execute(engine, 'nonsense', START + 10)
    expect(textOfReply(answer)).toBe('-ERR unknown command\r\n')
    expect(answer.changes.map(({ key }) => textOf(key))).toEqual(['old'])
  })

  it('mutating a request after it was applied does not change the store', () => {
    const engine = new Engine<string>()
    const requests = ['SET key value PX 100', 'KEYNOTIFY key', 'SET key other NX'].map(command)
    for (const payload of requests) {
      handle(engine, { payload, timestamp: `${START}:0:client` }, 'client', START)
      payload.fill(0x21)
    }
    expect(textOfReply(execute(engine, 'GET key'))).toBe('$5\r\nvalue\r\n')
    expect([...engine.watchersOf(bytes('key'))]).toEqual(['client'])
    expect(expire(engine, START + 100).map(({ key }) => textOf(key))).toEqual(['key'])
  })

  it('the store retains only the value of a request, not its buffer', () => {
    const engine = new Engine<string>()
    const packet = Buffer.alloc(65_536)
    const payload = packet.subarray(0, command('SET key value').copy(packet))
    handle(engine, { payload, timestamp: `${START}:0:client` }, 'client', START)
    expect(engine.peek(bytes('key'))?.value.buffer.byteLength).toBe(5)
  })
})

describe('Malicious requests', () => {
  const LIMIT = START + 60_000
  const HOSTILE = [
    `${LIMIT}:0:mallory`,
    `${LIMIT}:4294967295:mallory`,
    `${LIMIT}:9007199254740991:mallory`,
    `${LIMIT}:9007199254740990:mallory`,
    `${LIMIT}:18446744073709551615:mallory`,
    `${START}:4294967295:\uffff`,
    `${LIMIT + 1}:0:mallory`,
    '9007199254740991:0:mallory',
    '9007199254740991:9007199254740991:mallory',
    `${'9'.repeat(60_000)}:0:mallory`,
  ]

  it.each(HOSTILE)('the timestamp %.40s does not block other writers', timestamp => {
    const engine = new Engine<string>()
    execute(engine, 'SET doomed v PX 1')
    for (const line of ['SET mine v', 'SET mine v PX 10', 'DEL mine', 'SET mine v', 'VDEL mine v', 'GET mine']) {
      execute(engine, line, START, timestamp)
    }
    expect(textOfReply(execute(engine, 'SET theirs v'))).toBe('+OK\r\n')
    expect(textOfReply(execute(engine, 'DEL theirs'))).toBe(':1\r\n')
    expect(expire(engine, START + 1)).toHaveLength(1)
  })

  it('a writer that always sends the largest accepted clock does not block other writers', () => {
    const engine = new Engine<string>()
    for (let now = START; now < START + 500; now++) {
      const hostile = execute(engine, 'SET mine v', now, `${now + 60_000}:4294967295:mallory`)
      const honest = execute(engine, 'SET theirs v', now)
      expect([textOfReply(hostile), textOfReply(honest)]).toEqual(['+OK\r\n', '+OK\r\n'])
      expect(isNewer(String(honest.version), String(hostile.version))).toBe(true)
    }
  })

  it('10,000 random requests never throw, and each gets a reply', () => {
    const word = fc.oneof(
      fc.constantFrom(
        'SET',
        'GET',
        'DEL',
        'VDEL',
        'KEYNOTIFY',
        'SCAN',
        '*',
        '[a-',
        '[^\\',
        'STOP',
        'NX',
        'NEX',
        'PX',
        '1',
        'k',
        '',
        '\xff',
      ),
      fc.string(),
    )
    const wellFormed = fc.array(word, { maxLength: 8 }).map(words => Buffer.from(resp3(words)))
    const damaged = fc.tuple(wellFormed, fc.nat(), fc.integer({ min: 0, max: 255 })).map(([payload, at, byte]) => {
      payload[at % payload.length] = byte
      return payload
    })
    const payload = fc.oneof(fc.uint8Array({ maxLength: 60 }), wellFormed, damaged)
    const clock = fc.oneof(
      fc.constant(`${START}:0:c`),
      fc.string(),
      fc.constant(undefined),
      fc.constantFrom(...HOSTILE),
    )
    const engine = new Engine<string>({ maxKeys: 50 })
    fc.assert(
      fc.property(payload, clock, clock, (bytesSent, timestamp, fencingToken) => {
        const answer = handle(engine, { payload: bytesSent, timestamp, fencingToken }, 'client', START)
        expect(textOfReply(answer)).toMatch(/^[-+:$*][\s\S]*\r\n$/)
      }),
      { numRuns: effort(10_000, 1_000) },
    )
  })
})
