import type { Context } from 'rxjs-marbles'
import { onTestFinished, vi } from 'vitest'
import { StateStore } from '../../src/client/connect/client.js'
import type { Clock } from '../../src/core/util/clock.js'
import { START } from './manual-clock.js'
import { type Answer, type Script, ScriptedSession } from './operator-session.js'

/**
 * The time of a marble test as a clock. `ahead` is how far the wall clock has been moved, and `pending` counts the
 * clock's timers.
 */
export class MarbleClock implements Clock {
  ahead = 0
  /** The number of timers that have neither run nor been cancelled. */
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

/** Creates an unconnected client on marble time for a store that responds as scripted. Random numbers are constant. */
export function marbleStore(m: Context, script: Script, options: { timeout?: number; verifyEvery?: number } = {}) {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => void vi.restoreAllMocks())
  const clock = new MarbleClock(m)
  const session = new ScriptedSession(script)
  const store = new StateStore(session, { clock, timeout: 1_000, maxQueued: 100, stopDelay: 0, ...options })
  return { clock, session, store }
}

/** Returns a key's state in the store: its value and version, or its absence as of a version. */
export const found = (record: { value: string; version: number } | undefined, place: number): Answer =>
  record === undefined
    ? { payload: '$-1\r\n', properties: { __stat: '200', __pos: `${place}:0:S` } }
    : {
        payload: `$${record.value.length}\r\n${record.value}\r\n`,
        properties: { __stat: '200', __ts: `${record.version}:0:S` },
      }
