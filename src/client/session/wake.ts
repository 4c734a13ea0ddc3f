import type { Clock } from '../../core/util/clock.js'

/** The interval at which the clocks are compared, and the minimum jump of the wall clock, ms. */
const CHECK_INTERVAL_MS = 5_000
const MIN_JUMP_MS = 10_000
/** Minimum of {@link wakeTimeout}, ms. */
const WAKE_TIMEOUT_MS = 3_000

/** Events of a page or worker after which an attempt to connect is likely to succeed, or a user waits for it. */
const PAGE_EVENTS = ['online', 'pageshow', 'focus', 'visibilitychange']

/**
 * Calls `task` when the wall clock has jumped ahead. It does so after system sleep, during which connections may have
 * died silently. Calls `onVisit` when a page is shown or its network is back. Returns a function that stops the checks.
 */
export function onWake(clock: Clock, task: () => void, onVisit: () => void): () => void {
  const target: Partial<Pick<Window, 'addEventListener' | 'removeEventListener'>> = globalThis
  const visit = (): void => {
    if (typeof document === 'undefined' || document.visibilityState !== 'hidden') onVisit()
  }
  // Captured, because `visibilitychange` is an event of the document.
  for (const type of PAGE_EVENTS) target.addEventListener?.(type, visit, { capture: true })
  let last = clock.now()
  let cancel = clock.schedule(CHECK_INTERVAL_MS, compare)
  function compare(): void {
    const now = clock.now()
    const aheadMs = now - last - CHECK_INTERVAL_MS
    last = now
    cancel = clock.schedule(CHECK_INTERVAL_MS, compare)
    if (aheadMs > MIN_JUMP_MS) task()
  }
  return () => {
    cancel()
    for (const type of PAGE_EVENTS) target.removeEventListener?.(type, visit, { capture: true })
  }
}

/** Returns the maximum silence of a connection after a jump, ms. It is longer if a long round trip is expected. */
const wakeTimeout = (connectTimeoutMs: number): number => Math.max(WAKE_TIMEOUT_MS, 0.3 * connectTimeoutMs)

export interface CheckedLink {
  /** Returns the number of bytes received so far, if known. */
  received(): number | undefined
  ping(): void
  /** Called if no byte has arrived since the ping. */
  onDead(): void
}

/** Checks whether a connection has survived system sleep. One check at a time. */
export class WakeCheck {
  readonly #link: CheckedLink
  readonly #clock: Clock
  readonly #timeoutMs: number
  #cancel: (() => void) | undefined

  constructor(link: CheckedLink, clock: Clock, connectTimeoutMs: number) {
    this.#link = link
    this.#clock = clock
    this.#timeoutMs = wakeTimeout(connectTimeoutMs)
  }

  start(): void {
    if (this.#cancel) return
    const received = this.#link.received()
    this.#link.ping()
    this.#cancel = this.#clock.schedule(this.#timeoutMs, () => {
      this.#cancel = undefined
      if (received !== undefined && this.#link.received() === received) this.#link.onDead()
    })
  }

  cancel(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }
}
