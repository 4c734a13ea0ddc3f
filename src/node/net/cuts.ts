import type { Clock } from '../../core/util/clock.js'

/** A network connection that was ended for a limit. */
export interface Cut {
  /** Which limit it was. */
  readonly reason: string
  readonly address: string | undefined
  readonly listener: string
  /** Of one that was let in. */
  readonly clientId?: string | undefined
  readonly username?: string | undefined
}

/** Several that have the same limit, address and client; without an address those of many. */
export interface CutReport extends Omit<Cut, 'address'> {
  readonly event: 'cut'
  readonly address?: string | undefined
  readonly count: number
}

type Event = Omit<CutReport, 'count'>

/** The first of those that have the same limit, address and client is reported at once, the others after so long, ms. */
const INTERVAL = 10_000
/** Of so many limits, addresses and clients in that time; those of all others are reported together. */
const MOST_APART = 100

/**
 * Reports connections that were cut. Who is cut comes again, thousands of times in a second, and is not to fill the audit log:
 * the first is reported at once, then how many more there were.
 *
 * @example
 * ```ts
 * cuts.report({ reason: 'there are 50000 connections', address: '192.0.2.1', listener: 'mqtt' })
 * ```
 */
export class Cuts {
  readonly #clock: Clock
  readonly #emit: (report: CutReport) => void
  /** How many are still to be reported. */
  readonly #counts = new Map<string, { readonly event: Event; count: number }>()
  #cancel: (() => void) | undefined

  constructor(clock: Clock, emit: (report: CutReport) => void) {
    this.#clock = clock
    this.#emit = emit
  }

  report(cut: Cut): void {
    const { reason, listener, address, clientId, username } = cut
    const names = JSON.stringify([listener, reason, address, clientId])
    const isApart = this.#counts.has(names) || this.#counts.size < MOST_APART
    const key = isApart ? names : listener
    const known = this.#counts.get(key)
    if (known !== undefined) {
      known.count++
      return
    }
    const event: Event = isApart
      ? { event: 'cut', reason, listener, address, clientId, username }
      : { event: 'cut', reason: 'too many were cut to report each', listener }
    this.#counts.set(key, { event, count: 0 })
    this.#emit({ ...event, count: 1 })
    this.#cancel ??= this.#clock.schedule(INTERVAL, () => this.#flush())
  }

  /** Reports what is still to be reported. */
  close(): void {
    this.#cancel?.()
    this.#flush()
  }

  #flush(): void {
    this.#cancel = undefined
    const counts = [...this.#counts.values()]
    this.#counts.clear()
    for (const { event, count } of counts) if (count > 0) this.#emit({ ...event, count })
  }
}
