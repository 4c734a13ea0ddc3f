import type { Observable } from 'rxjs'
import type { Context } from 'rxjs-marbles'
import type { LeaseState } from '../../src/client/lease/lease-state.js'
import { marbleStore } from './marble-store.js'
import type { Answer, Script, WireRequest } from './operator-session.js'

/** The minimum pause before a free lease is requested, in milliseconds. Jitter is disabled. */
export const JITTER = 25

/**
 * The store's responses. Times are in milliseconds after the request, and versions are the wall clock of an HLC.
 */
export interface Answers {
  /**
   * The nth SET: `+{version}` if it was applied, `-{version}` if it was refused, and otherwise a payload. `undefined`
   * means no response.
   */
  readonly set: readonly (string | undefined)[]
  /** The nth GET: `{holder} {version}`, or '' if the key is absent. */
  readonly get?: readonly string[]
  readonly notify?: string
  /** The reply to VDEL. `silence` means no reply. */
  readonly vdel?: string
  readonly delay?: number
  /** The time in milliseconds before which the store sends no response. */
  readonly frozenUntil?: number
}

/** Creates a client on marble time and a store that gives scripted responses. */
export function leaseBench(m: Context, answers: Answers) {
  const counts: Record<string, number> = {}
  const script: Script = request => {
    const nth = counts[request.verb] ?? 0
    counts[request.verb] = nth + 1
    const answer = answerTo(request, nth, answers)
    if (answer === undefined) return m.cold<Answer>('-')
    const delay = Math.max(answers.delay ?? 0, (answers.frozenUntil ?? 0) - m.scheduler.now())
    return m.cold<Answer>(delay > 0 ? `${delay}ms a` : 'a', { a: answer })
  }
  const { clock, session, store } = marbleStore(m, script, { timeout: 10_000 })
  session.connect()
  /** Returns the requests in flight as text. */
  const sent = (): string[] => session.requests.map(({ verb, rest }) => [verb, ...rest].join(' '))
  return { store, session, clock, wall: clock, sent }
}

function answerTo({ verb }: WireRequest, nth: number, answers: Answers): Answer | undefined {
  if (verb === 'SET') return answerToSet(answers.set[nth])
  if (verb === 'GET') return answerToGet(answers.get?.[nth] ?? answers.get?.at(-1) ?? '')
  if (verb === 'VDEL' && answers.vdel === 'silence') return undefined
  if (verb === 'VDEL') return { payload: `${answers.vdel ?? ':1'}\r\n`, properties: OK }
  return { payload: `${answers.notify ?? '+OK'}\r\n`, properties: OK }
}

const OK = { __stat: '200' }

function answerToSet(answer: string | undefined): Answer | undefined {
  if (answer === undefined) return undefined
  const [, sign, version] = /^([-+])(\d+)$/.exec(answer) ?? []
  if (version === undefined) return { payload: `${answer}\r\n`, properties: OK }
  return { payload: sign === '+' ? '+OK\r\n' : ':-1\r\n', properties: { ...OK, __ts: `${version}:0:S` } }
}

function answerToGet(answer: string): Answer {
  const [, holder, version] = /^(.*) (\d+)$/s.exec(answer) ?? []
  if (holder === undefined) return { payload: '$-1\r\n', properties: OK }
  return {
    payload: `$${holder.length}\r\n${holder}\r\n`,
    properties: { ...OK, __ts: `${version}:0:S` },
  }
}

/** Describes a state in a few words. */
export function inWords(state: LeaseState): string {
  if (state.status === 'held') return `held ${state.token.wallClock} until ${state.expiresAtMonotonic}`
  return state.status === 'waiting' ? `waiting for ${state.holder}` : `lost: ${state.cause.reason}`
}

/** Runs a task at a virtual time in milliseconds. */
export function at(m: Context, time: number, task: () => void): void {
  m.scheduler.schedule(task, time)
}

/** Returns the values of an observable in a marble test with their times, such as `10000 lost: expired`. */
export function transcript(m: Context, source: Observable<string>, end: number): string[] {
  const lines: string[] = []
  const note = (words: string): void => void lines.push(`${m.scheduler.now()} ${words}`)
  const subscription = source.subscribe({
    next: note,
    error: error => note(`error ${error.code ?? String(error)}`),
    complete: () => note('complete'),
  })
  at(m, end, () => subscription.unsubscribe())
  m.flush()
  return lines
}
