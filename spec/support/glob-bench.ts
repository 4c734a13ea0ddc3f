import type { Observable } from 'rxjs'
import type { Context } from 'rxjs-marbles'
import { ConnectionLostError } from '../../src/core/util/errors.js'
import { found, marbleStore } from './marble-store.js'
import type { Answer, Script, WireRequest } from './operator-session.js'

/** The response time of the store in milliseconds. */
const DELAY = 10

/** The time in milliseconds at which the client is closed. */
const END = 500_000

export interface GlobStore {
  /** The replies to GLOBNOTIFY in order. The last reply is repeated, and `undefined` means no reply. */
  readonly glob?: readonly (string | undefined)[]
  readonly verifyEvery?: number
}

/** Creates a client on marble time and a store whose keys the spec changes with or without notifications. */
export function globBench(m: Context, { glob = ['+OK'], verifyEvery }: GlobStore = {}) {
  const { scheduler } = m
  let [version, asked] = [1, 0]
  const keys = new Map<string, { value: string; version: number }>()
  const sent: string[] = []
  const muted = new Set<string>()
  const script: Script = request => {
    const { verb, key, rest } = request
    sent.push([scheduler.now(), verb, key, ...rest].join(' '))
    const isAsked = verb === 'GLOBNOTIFY' && rest.length === 0
    const payload = isAsked ? glob[Math.min(asked++, glob.length - 1)] : '+OK'
    if ([`${verb} ${key}`, ...rest].some(words => muted.has(words))) return m.cold('-')
    return payload === undefined ? m.cold('-') : later(() => answerTo(request, payload))
  }
  const { clock, session, store } = marbleStore(m, script, verifyEvery ? { verifyEvery } : {})

  // Responds after the delay. The response reflects the keys at the time of the request.
  function later(answer: () => Answer): Observable<Answer> {
    return m.cold<Answer>(`${DELAY}ms a`, { a: answer() })
  }

  function answerTo({ verb, key }: WireRequest, payload: string): Answer {
    const place = { __stat: '200', __pos: `${version}:0:S` }
    if (verb === 'SCAN') {
      const names = Array.from(keys.keys(), name => `$${name.length}\r\n${name}\r\n`)
      return { payload: `*1\r\n*${names.length}\r\n${names.join('')}` }
    }
    if (verb !== 'GET') return { payload: `${payload}\r\n`, properties: place }
    return found(keys.get(key), version)
  }

  /** Changes a key without a notification. */
  function change(key: string, value: string | undefined): void {
    version++
    if (value === undefined) keys.delete(key)
    else keys.set(key, { value, version })
  }

  /** Changes a key, and notifies the client. */
  function notify(key: string, value: string | undefined): void {
    change(key, value)
    session.notify(key, value === undefined ? 'delete' : { set: value }, version)
  }

  session.connect()
  // Without this close, periodic verification would keep virtual time running forever.
  scheduler.schedule(() => void store.close(), END)
  return {
    store,
    change,
    notify,
    /** All requests, with the times in milliseconds at which they were sent. */
    sent,
    /** Stops responding to requests with the command, or with the command and the key. */
    mute: (words: string) => void muted.add(words),
    unmute: (words: string) => void muted.delete(words),
    connect: () => session.connect(),
    disconnect: () => session.disconnect(new ConnectionLostError()),
    /** Returns the number of timers that have neither run nor been cancelled. */
    pending: () => clock.pending,
    at: (time: number, task: () => void) => void scheduler.schedule(task, time),
  }
}
