import { useEffect, useRef, useState } from 'preact/hooks'
import type { Observable, Subscription } from 'rxjs'
import { type ErrorText, inWords } from '../../model/words.js'

/** A write a dialog makes: under way, or what it came to if that is bad. */
export interface Writing<T> {
  readonly busy: boolean
  /** Why it failed, or why nothing was written. */
  readonly problem: ErrorText | undefined
  fail(problem: ErrorText): void
  /** Makes the write; `done` hears its answer. */
  begin(write: Observable<T>, done: (answer: T) => void): void
}

/** One write at a time; it goes on when the dialog is closed, and says no more. */
export function useWriting<T>(): Writing<T> {
  const [busy, setBusy] = useState(false)
  const [problem, fail] = useState<ErrorText>()
  const running = useRef<Subscription>(undefined)
  useEffect(() => () => running.current?.unsubscribe(), [])
  const begin: Writing<T>['begin'] = (write, done) => {
    fail(undefined)
    setBusy(true)
    running.current = write.subscribe({
      next: answer => {
        setBusy(false)
        done(answer)
      },
      error: (cause: unknown) => {
        setBusy(false)
        fail(inWords(cause))
      },
    })
  }
  return { busy, problem, fail, begin }
}
