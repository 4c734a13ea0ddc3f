import type { Context } from 'rxjs-marbles'
import { onTestFinished, vi } from 'vitest'
import { StateStore } from '../../src/client/connect/client.js'
import type { Clock } from '../../src/core/util/clock.js'
import { START } from './manual-clock.js'
import { type Answer, FakeSession, type Script } from './operator-session.js'

/** The time of a marble test as a clock; `ahead` is how far wall time has been moved, `pending` counts its timers. */
export class MarbleClock implements Clock {
  ahead = 0
  /** Timers that were neither run nor cancelled. */
  pending = 0
  readonly #scheduler: Context['scheduler']

  constructor({ scheduler }: Context) {
    this.#scheduler = scheduler
  }

  now(): number {
    return START + this.#scheduler.now() + this.ahead
  }

  monotonic(): number {
    return this.#scheduler.now()
  }

  schedule(delay: number, task: () => void): () => void {
    this.pending++
    let isOver = false
    const end = (): void => {
      if (!isOver) this.pending--
      isOver = true
    }
    const action = this.#scheduler.schedule(() => {
      end()
      task()
    }, delay)
    return () => {
      end()
      action.unsubscribe()
    }
  }
}

/** A client in the time of a marble test, not connected yet, before a store that answers as scripted; chance is off. */
export function marbleStore(m: Context, script: Script, options: { timeout?: number; verifyEvery?: number } = {}) {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => void vi.restoreAllMocks())
  const clock = new MarbleClock(m)
  const session = new FakeSession(script)
  const store = new StateStore(session, { clock, timeout: 1_000, maxQueued: 100, stopDelay: 0, ...options })
  return { clock, session, store }
}

/** The state of a key at the store: its value and version, or its absence as of a version. */
export const found = (record: { value: string; version: number } | undefined, place: number): Answer =>
  record === undefined
    ? { payload: '$-1\r\n', properties: { __stat: '200', __pos: `${place}:0:S` } }
    : {
        payload: `$${record.value.length}\r\n${record.value}\r\n`,
        properties: { __stat: '200', __ts: `${record.version}:0:S` },
      }
