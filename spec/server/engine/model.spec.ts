import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeReply } from '../../../src/core/protocol/replies.js'
import { type CommandResult, Engine } from '../../../src/server/engine/engine.js'
import { effort } from '../../support/effort.js'
import { expire, handle } from '../../support/engine-requests.js'
import { START } from '../../support/manual-clock.js'
import { type NaiveRequest, NaiveStore } from '../../support/naive-store.js'
import { isNewer } from '../../support/version.js'
import { resp3, textOf } from '../../support/words.js'

const key = fc.constantFrom('a', 'b', '\x00')
const value = fc.constantFrom('', 'x', 'y')

const condition = fc.oneof(
  fc.constant<string[]>([]),
  fc.constant(['NX']),
  fc.constant(['NEX']),
  value.map(comparand => ['NEX', comparand]),
)
const expiry = fc.oneof(
  fc.constant<string[]>([]),
  fc.constantFrom('1', '10', '40').map(px => ['PX', px]),
)

const words = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(key, value, condition, expiry).map(([k, v, c, e]) => ['SET', k, v, ...c, ...e]) },
  { weight: 2, arbitrary: key.map(k => ['GET', k]) },
  { weight: 1, arbitrary: key.map(k => ['DEL', k]) },
  { weight: 1, arbitrary: fc.tuple(key, value).map(([k, v]) => ['VDEL', k, v]) },
)

const ahead = fc.constantFrom(0, 0, 0, -90_000, -1, 1, 59_000, 60_000, 61_000)
const counter = fc.constantFrom(0, 1, 99_999, 4_294_967_295)
const tokenAhead = fc.constantFrom(0, 5, 9, 90_000)

interface RandomRequest {
  readonly wait: number
  readonly words: readonly string[]
  readonly clock: { readonly ahead: number; readonly counter: number } | undefined
  readonly token: number | undefined
}

const anyRequest: fc.Arbitrary<RandomRequest> = fc.record({
  wait: fc.constantFrom(0, 0, 0, 1, 9, 30),
  words,
  clock: fc.option(fc.record({ ahead, counter }), { nil: undefined, freq: 9 }),
  token: fc.option(tokenAhead, { nil: undefined, freq: 1 }),
})

const requestAt = (now: number, { words, clock, token }: RandomRequest): NaiveRequest => ({
  words,
  timestamp: clock && `${now + clock.ahead}:${clock.counter}:client`,
  token: token === undefined ? undefined : `${START + token}:0:lock`,
})

const execute = (engine: Engine<string>, { words, timestamp, token }: NaiveRequest, now: number): CommandResult =>
  handle(engine, { payload: resp3(words), timestamp, fencingToken: token }, 'client', now)

describe('An engine after a random history', () => {
  it('the engine replies like a naive model of the protocol', () => {
    fc.assert(
      fc.property(fc.array(anyRequest, { maxLength: 60 }), history => {
        const [engine, model] = [new Engine<string>(), new NaiveStore()]
        let now = START
        for (const step of history) {
          now += step.wait
          const request = requestAt(now, step)
          const { reply, version, changes } = execute(engine, request, now)
          const expired = model.expire(now)
          const got = { reply: textOf(encodeReply(reply)), version: version && String(version) }
          const ownChanges = changes.slice(expired.length)
          expect(
            changes
              .slice(0, expired.length)
              .map(change => textOf(change.key))
              .sort(),
          ).toEqual(expired)
          expect(got, JSON.stringify(step)).toEqual(
            model.answer(request, now, ownChanges.length > 0 ? got.version : undefined),
          )
          expect(engine.size).toBe(model.size)
        }
      }),
      { numRuns: effort(400, 80) },
    )
  })

  it("each change has a newer version than earlier changes and the request's timestamp", () => {
    fc.assert(
      fc.property(fc.array(anyRequest, { maxLength: 60 }), history => {
        const engine = new Engine<string>()
        let [now, newest] = [START, '0:0:']
        for (const step of history) {
          now += step.wait
          const request = requestAt(now, step)
          const { changes, version } = execute(engine, request, now)
          for (const change of changes) {
            expect(isNewer(String(change.version), newest), `${change.version} after ${newest}`).toBe(true)
            newest = String(change.version)
          }
          const ownChange = changes.at(-1)
          if (ownChange === undefined || ownChange.version !== version || request.timestamp === undefined) continue
          expect(isNewer(String(version), request.timestamp), `${version} for ${request.timestamp}`).toBe(true)
        }
      }),
      { numRuns: effort(400, 80) },
    )
  })

  it('a change is reported if and only if GET then returns a different result', () => {
    fc.assert(
      fc.property(fc.array(anyRequest, { maxLength: 40 }), history => {
        const engine = new Engine<string>()
        let now = START
        const readAll = (): string[] =>
          ['a', 'b', '\x00'].map(name => {
            const { reply, version } = execute(
              engine,
              { words: ['GET', name], timestamp: undefined, token: undefined },
              now,
            )
            return `${textOf(encodeReply(reply))}${version}`
          })
        for (const step of history) {
          now += step.wait
          expire(engine, now)
          const before = readAll()
          const { changes } = execute(engine, requestAt(now, step), now)
          expect(readAll().filter((state, i) => state !== before[i])).toHaveLength(changes.length)
        }
      }),
      { numRuns: effort(200, 50) },
    )
  })
})
