import { useEffect, useRef, useState } from 'preact/hooks'
import type { Observable, Subscription } from 'rxjs'
import { describeError, type ErrorText } from '../../model/error-text.js'
import type { Health } from '../../state/health.js'
import { useConsole } from '../context.js'

export interface WriteState<T> {
  /** When the write in progress was started, ms of `performance.now()`. */
  readonly startedAt: number | undefined
  readonly problem: ErrorText | undefined
  fail(problem: ErrorText): void
  /** Starts the write. `done` receives the response. */
  start(write: Observable<T>, done: (answer: T) => void): void
}

/**
 * Tracks one write. Closing the dialog unsubscribes, so that a write that waits for the connection is not sent. A write
 * that was sent cannot be recalled, and a message says so.
 */
export function useWrite<T>(): WriteState<T> {
  const { health$, toasts } = useConsole()
  const [startedAt, setStartedAt] = useState<number>()
  const [problem, fail] = useState<ErrorText>()
  const running = useRef<Subscription>(undefined)
  const mayBeSent = useRef(false)
  useEffect(
    () => () => {
      if (running.current?.closed !== false) return
      running.current.unsubscribe()
      if (mayBeSent.current || isReachable(health$.value))
        toasts.success('Cancelled', 'The store may still apply this write.')
    },
    [health$, toasts],
  )
  const start: WriteState<T>['start'] = (write, done) => {
    fail(undefined)
    setStartedAt(performance.now())
    mayBeSent.current = isReachable(health$.value)
    running.current = write.subscribe({
      next: answer => {
        setStartedAt(undefined)
        done(answer)
      },
      error: (cause: unknown) => {
        setStartedAt(undefined)
        fail(describeError(cause))
      },
    })
  }
  return { startedAt, problem, fail, start }
}

const isReachable = ({ state }: Health): boolean => state === 'live' || state === 'frozen'
