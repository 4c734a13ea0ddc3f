import type { Observable } from 'rxjs'
import type { Context } from 'rxjs-marbles'

const toCold = (m: Context, diagram: string) => m.cold<string>(diagram)

type Cold = ReturnType<typeof toCold>

/** The requests of a marble test. Each item has a cold observable, so that subscriptions can be checked. */
export class Requests {
  /** The items whose requests were made, in that order. */
  readonly made: string[] = []
  readonly #m: Context
  readonly #cold = new Map<string, Cold>()

  /** @param diagrams - the marbles of the request of each item */
  constructor(m: Context, diagrams: Readonly<Record<string, string>>) {
    this.#m = m
    for (const [item, diagram] of Object.entries(diagrams)) this.#cold.set(item, toCold(m, diagram))
  }

  /** Returns the request of an item. */
  readonly of = (item: string): Observable<string> => {
    this.made.push(item)
    return this.#get(item)
  }

  /** Expects exactly these subscriptions of an item's request. Expects none for a request that is never made. */
  expect(item: string, ...subscriptions: string[]): void {
    this.#m.expect(this.#get(item)).toHaveSubscriptions(subscriptions)
  }

  #get(item: string): Cold {
    const cold = this.#cold.get(item)
    if (cold === undefined) throw new Error(`No request is scripted for ${item}`)
    return cold
  }
}
