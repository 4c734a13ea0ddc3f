import { BehaviorSubject, timer } from 'rxjs'
import { describeError, type ErrorText } from '../model/error-text.js'

export interface Toast {
  readonly n: number
  readonly tone: 'good' | 'bad'
  readonly title: string
  readonly text: string
}

const MAX_TOASTS = 4
/** Time that a toast is shown, ms. Failures are shown longer. */
const DURATION_MS = { good: 5_000, bad: 12_000 }

export class Toasts {
  readonly #shown$ = new BehaviorSubject<readonly Toast[]>([])
  #count = 0

  get shown$(): BehaviorSubject<readonly Toast[]> {
    return this.#shown$
  }

  success(title: string, text = ''): void {
    this.#show('good', title, text)
  }

  failure(cause: unknown): void {
    this.problem(describeError(cause))
  }

  problem({ title, advice }: ErrorText): void {
    this.#show('bad', title, advice)
  }

  dismiss(n: number): void {
    this.#shown$.next(this.#shown$.value.filter(toast => toast.n !== n))
  }

  #show(tone: Toast['tone'], title: string, text: string): void {
    this.#count += 1
    const n = this.#count
    this.#shown$.next([...this.#shown$.value.slice(1 - MAX_TOASTS), { n, tone, title, text }])
    timer(DURATION_MS[tone]).subscribe(() => this.dismiss(n))
  }
}
