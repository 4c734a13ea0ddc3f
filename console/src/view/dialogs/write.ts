import { useEffect, useRef, useState } from 'preact/hooks'
import { type Observable, Subscription } from 'rxjs'
import { describeError, type ErrorText } from '../../model/error-text.js'
import { statusOf } from '../../state/store-link.js'
import { useConsole } from '../parts/context.js'

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
 * that was sent cannot be recalled, which a message explains.
 */
export function useWrite<T>(): WriteState<T> {
  const { store$, toasts } = useConsole()
  const [startedAt, setStartedAt] = useState<number>()
  const [problem, fail] = useState<ErrorText>()
  const running = useRef<Subscription>(undefined)
  const mayBeSent = useRef(false)
  useEffect(
    () => () => {
      if (running.current?.closed !== false) return
      running.current.unsubscribe()
      if (mayBeSent.current) toasts.success('Cancelled', 'The store may still apply this write.')
    },
    [toasts],
  )
  const start: WriteState<T>['start'] = (write, done) => {
    fail(undefined)
    setStartedAt(performance.now())
    mayBeSent.current = false
    const attempt = new Subscription()
    running.current = attempt
    // The client sends the write as soon as it is connected, which may be later and more than once.
    attempt.add(
      statusOf(store$).subscribe(({ state }) => {
        mayBeSent.current ||= state === 'connected'
      }),
    )
    const response = write.subscribe({
      next: answer => {
        attempt.unsubscribe()
        setStartedAt(undefined)
        done(answer)
      },
      error: (cause: unknown) => {
        attempt.unsubscribe()
        setStartedAt(undefined)
        fail(describeError(cause))
      },
    })
    attempt.add(response)
  }
  return { startedAt, problem, fail, start }
}
