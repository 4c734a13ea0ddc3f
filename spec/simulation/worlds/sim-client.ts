import { StateStore } from '../../../src/client/connect/client.js'
import { EventLoop } from './event-loop.js'
import type { ClientPlan } from './schedule.js'
import type { SessionOptions, SimSession } from './sim-session.js'
import type { VirtualTime } from './virtual-time.js'

/** The timeout of all requests in milliseconds. */
export const TIMEOUT_MS = 1_000

/** The shipped client with a simulated connection, event loop and clock. */
export class SimClient<S extends SimSession = SimSession> {
  readonly name: string
  readonly plan: ClientPlan
  readonly loop: EventLoop
  readonly session: S
  readonly store: StateStore
  /** Whether the client has ended, because it was closed or another client took over its session. */
  isEnded = false

  constructor(name: string, plan: ClientPlan, time: VirtualTime, sessionFor: (options: SessionOptions) => S) {
    this.name = name
    this.plan = plan
    this.loop = new EventLoop(time, plan.clockOffset, plan.clockRate)
    this.session = sessionFor({ ...plan, clientId: name, run: this.loop.run })
    const { stopDelay = 0 } = plan
    this.store = new StateStore(this.session, {
      clock: this.loop.clock(),
      timeout: TIMEOUT_MS,
      maxQueued: 1_000,
      stopDelay,
    })
  }

  /** Subscribes a handler to the status and the client's errors. */
  onEvents(handle: () => void): void {
    const complete = (): void => {
      this.isEnded = true
    }
    this.store.status$.subscribe({ next: handle, complete })
    this.store.errors$.subscribe(handle)
  }
}
