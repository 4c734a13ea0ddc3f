import type { Observable } from 'rxjs'
import type { Context } from 'rxjs-marbles'

const toCold = (m: Context, diagram: string) => m.cold<string>(diagram)

type Cold = ReturnType<typeof toCold>

/** Requests of a marble test: one cold observable per item, so that its subscriptions can be asserted. */
export class Requests {
  /** Items whose request was made, in that order. */
  readonly made: string[] = []
  readonly #m: Context
  readonly #cold = new Map<string, Cold>()

  /** @param diagrams - per item the marbles of its request */
  constructor(m: Context, diagrams: Readonly<Record<string, string>>) {
    this.#m = m
    for (const [item, diagram] of Object.entries(diagrams)) this.#cold.set(item, toCold(m, diagram))
  }

  /** The request of an item. */
  readonly of = (item: string): Observable<string> => {
    this.made.push(item)
    return this.#get(item)
  }

  /** Expects exactly these subscriptions of an item's request; none for a request that is never made. */
  expect(item: string, ...subscriptions: string[]): void {
    this.#m.expect(this.#get(item)).toHaveSubscriptions(subscriptions)
  }

  #get(item: string): Cold {
    const cold = this.#cold.get(item)
    if (cold === undefined) throw new Error(`No request is scripted for ${item}`)
    return cold
  }
}
