import type { LogEntry } from '../../src/server/engine/entry.js'
import { type Log, MemoryLog } from '../../src/server/log/log.js'
import { SimBroker } from './broker.js'
import type { Setting } from './connection.js'

/** The entries of all nodes of a store, in the order that holds. */
export class Cluster {
  readonly entries: LogEntry[] = []
  readonly nodes: SimNode[] = []

  /** Whoever appended has applied it; the others will. */
  append(entry: LogEntry, by: SimNode): void {
    this.entries.push(entry)
    for (const node of this.nodes) if (node !== by) node.follow()
  }
}

/**
 * A broker of several that share one store: it applies what the others have appended a little later, tells those who watch
 * here then, and answers nobody before it has caught up. Sessions, queues and registrations are its own.
 */
export class SimNode extends SimBroker {
  readonly #cluster: Cluster
  /** Entries that are applied here, and those that are due. */
  #applied = 0
  #due = 0
  /** When the last of those that are due will be applied. */
  #caughtUp = 0
  /** Requests that came before it had, in their order. */
  #waiting: (() => void)[] = []

  constructor(setting: Setting, cluster: Cluster) {
    super(setting)
    this.#cluster = cluster
    cluster.nodes.push(this)
  }

  /** There is one entry more. */
  follow(): void {
    const { time, random, conditions } = this.setting
    const due = this.#cluster.entries.length
    this.#due = due
    this.#caughtUp = Math.max(this.#caughtUp, time.now + random.int(0, conditions.lag ?? 0))
    time.after(this.#caughtUp - time.now, () => {
      if (!this.up) return
      this.#apply(due)
      this.#answer()
    })
  }

  protected override get place(): number {
    return this.engine.place
  }

  protected override inTime(task: () => void): void {
    this.#waiting.push(task)
    this.#answer()
  }

  protected override start(): void {
    super.start()
    this.#apply(this.#cluster.entries.length)
    this.#answer()
  }

  protected override log(): Log {
    const node = this
    return new (class extends MemoryLog {
      override append(entry: LogEntry): void {
        // Somebody else may have been faster, and what is answered has to come behind that.
        node.#apply(node.#cluster.entries.length)
        node.#applied++
        node.#cluster.append(entry, node)
        super.append(entry)
      }
    })()
  }

  #answer(): void {
    if (this.#applied < this.#due) return
    const waiting = this.#waiting
    this.#waiting = []
    for (const task of waiting) task()
  }

  /** Applies the entries of others, up to the one with a number. */
  #apply(end: number): void {
    const { server } = this
    while (this.#applied < end) {
      const entry = this.#cluster.entries[this.#applied++]
      if (entry === undefined) return
      for (const { changes } of this.engine.apply(entry)) server.onChanges(changes)
      server.report(undefined)
    }
  }
}
