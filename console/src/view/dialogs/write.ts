import { useEffect, useRef, useState } from 'preact/hooks'
import type { Observable, Subscription } from 'rxjs'
import { describeError, type ErrorText } from '../../model/error-text.js'

export interface WriteState<T> {
  readonly isBusy: boolean
  readonly problem: ErrorText | undefined
  fail(problem: ErrorText): void
  /** Starts the write. `done` receives the response. */
  start(write: Observable<T>, done: (answer: T) => void): void
}

/** Tracks one write. Closing the dialog unsubscribes from the write, but does not undo it. */
export function useWrite<T>(): WriteState<T> {
  const [isBusy, setBusy] = useState(false)
  const [problem, fail] = useState<ErrorText>()
  const running = useRef<Subscription>(undefined)
  useEffect(() => () => running.current?.unsubscribe(), [])
  const start: WriteState<T>['start'] = (write, done) => {
    fail(undefined)
    setBusy(true)
    running.current = write.subscribe({
      next: answer => {
        setBusy(false)
        done(answer)
      },
      error: (cause: unknown) => {
        setBusy(false)
        fail(describeError(cause))
      },
    })
  }
  return { isBusy, problem, fail, start }
}
