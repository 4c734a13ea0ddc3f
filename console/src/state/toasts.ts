import { BehaviorSubject, timer } from 'rxjs'
import { inWords } from '../model/words.js'

/** A message that goes away by itself. */
export interface Toast {
  readonly n: number
  readonly tone: 'good' | 'bad'
  readonly title: string
  readonly text: string
}

const MOST_TOASTS = 4
/** How long they stay; failures are read twice. ms */
const STAY = { good: 5_000, bad: 12_000 }

/** What was done, and what went wrong. */
export class Toasts {
  readonly #shown$ = new BehaviorSubject<readonly Toast[]>([])
  #count = 0

  get shown$(): BehaviorSubject<readonly Toast[]> {
    return this.#shown$
  }

  good(title: string, text = ''): void {
    this.#show('good', title, text)
  }

  bad(cause: unknown): void {
    const { title, advice } = inWords(cause)
    this.#show('bad', title, advice)
  }

  dismiss(n: number): void {
    this.#shown$.next(this.#shown$.value.filter(toast => toast.n !== n))
  }

  #show(tone: Toast['tone'], title: string, text: string): void {
    this.#count += 1
    const n = this.#count
    this.#shown$.next([...this.#shown$.value.slice(1 - MOST_TOASTS), { n, tone, title, text }])
    timer(STAY[tone]).subscribe(() => this.dismiss(n))
  }
}
