import { map, type Observable } from 'rxjs'
import type { Context } from 'rxjs-marbles'
import { StateStoreError, text } from '../../src/client/index.js'
import { type OptimisticOptions, type OptimisticState, optimistic } from '../../src/client/optimistic/index.js'
import type { ConnectionInfo } from '../../src/client/session/session.js'
import { ConnectionLostError } from '../../src/core/util/errors.js'
import { found, marbleStore } from './marble-store.js'
import type { Answer, WireRequest } from './operator-session.js'

/** The response time in milliseconds. The write is applied immediately. */
const DELAY = 10
const END = 200_000

export interface WriteStore {
  /** The time in milliseconds after which a write is notified. Its response takes 10. The default is 12. */
  readonly echo?: number
}

/** Describes a state in a few words: `b pending`, `a refused: conflict`, `b pending late`. */
export function inWords({ value, state, error, late }: OptimisticState<string>): string {
  const reason = error ? `: ${error.code}` : ''
  const lateness = late ? (late.sentAfter === undefined ? ' late' : ` sent ${late.sentAfter} late`) : ''
  return `${value ?? '-'} ${state}${reason}${lateness}`
}

/** Opens a page on marble time that writes the key `k`, which has the value `a` in the store. */
export function writeBench(m: Context, options: OptimisticOptions<string> = {}, { echo = 12 }: WriteStore = {}) {
  const { scheduler } = m
  let isUp = false
  let version = 1
  let record: { value: string; version: number } | undefined = { value: 'a', version }
  const sent: string[] = []
  /**
   * The verbs whose requests are lost on the way to the store. Requests with the verbs below are executed without a
   * response.
   */
  const lost = new Set<string>()
  const unanswered = new Set<string>()
  const answers = new Map<string, string>()
  const { session, store } = marbleStore(m, request => {
    const { verb, rest } = request
    sent.push([scheduler.now(), verb, ...rest].join(' '))
    if (lost.has(verb)) return m.cold('-')
    const answer = answerTo(request)
    return unanswered.has(verb) ? m.cold('-') : m.cold<Answer>(`${DELAY}ms a`, { a: answer })
  })

  function answerTo({ verb, rest }: WireRequest): Answer {
    const scripted = answers.get(verb)
    if (scripted !== undefined) return { payload: `${scripted}\r\n` }
    if (verb === 'GET') return found(record, version)
    if (verb !== 'SET') return { payload: '+OK\r\n', properties: { __stat: '200' } }
    const [value = '', condition, wanted] = rest
    const isRight =
      condition === 'NX' ? record === undefined : condition !== 'IFVER' || wanted === `${record?.version}:0:S`
    const properties = { __stat: '200', ...(record && { __ts: `${record.version}:0:S` }) }
    if (!isRight) return { payload: ':-1\r\n', properties }
    change(value)
    const written = { value, version }
    scheduler.schedule(() => isUp && session.notify('k', { set: written.value }, written.version), echo)
    return { payload: '+OK\r\n', properties: { __stat: '200', __ts: `${written.version}:0:S` } }
  }

  /** Changes the key from another client without a notification. */
  function change(value: string | undefined): void {
    version++
    record = value === undefined ? undefined : { value, version }
  }

  /** Changes the key from another client at a time in ms of the store's clock, without a notification. */
  function changeAt(value: string, storeTime: number): void {
    version = storeTime
    record = { value, version }
  }

  /** Changes the key from another client, with a notification after a delay in milliseconds. */
  function notify(value: string | undefined, after = 0): void {
    change(value)
    const changedAt = version
    scheduler.schedule(() => session.notify('k', value === undefined ? 'delete' : { set: value }, changedAt), after)
  }

  const connect = (info: Partial<ConnectionInfo> = {}): void => {
    isUp = true
    session.connect(info)
  }
  const disconnect = (): void => {
    isUp = false
    session.disconnect(new ConnectionLostError())
  }
  const view = optimistic(store.key('k', text), options)
  connect()
  scheduler.schedule(() => void store.close(), END)
  return {
    session,
    store,
    view,
    state$: view.state$.pipe(map(inWords)),
    /** Describes a write's outcome in words. */
    result: (value: string): Observable<string> => view.set(value).pipe(map(({ outcome }) => `${value} ${outcome}`)),
    change,
    changeAt,
    notify,
    sent,
    /** Returns the SET requests of the page, with their times. */
    writes: () => sent.filter(request => request.includes(' SET ')),
    lost,
    unanswered,
    answers,
    connect,
    disconnect,
    at: (time: number, task: () => void) => void scheduler.schedule(task, time),
  }
}

/** Returns an error's code. */
export const codeOf = (error: unknown): string => (error instanceof StateStoreError ? error.code : String(error))
