import type { LogEntry } from '../../../src/server/engine/entry.js'
import { type Log, MemoryLog } from '../../../src/server/log/log.js'
import { SimBroker } from './broker.js'
import type { Setting } from './connection.js'

export class SharedEntries {
  readonly entries: LogEntry[] = []
  readonly nodes: SimNode[] = []

  /** Appends an entry, which this node has already applied and the other nodes will apply. */
  append(entry: LogEntry, by: SimNode): void {
    this.entries.push(entry)
    for (const node of this.nodes) if (node !== by) node.follow()
  }
}

/**
 * A broker whose store shares its log with other nodes. The node applies their entries after a delay, and then notifies
 * its watchers. It answers requests only after it has caught up. Its sessions, queues and registrations are separate.
 */
export class SimNode extends SimBroker {
  readonly #cluster: SharedEntries
  /** The numbers of entries that this node has applied and scheduled. */
  #applied = 0
  #due = 0
  #caughtUp = 0
  /** Requests received before the node has caught up, in order. */
  #waiting: (() => void)[] = []

  constructor(setting: Setting, cluster: SharedEntries) {
    super(setting)
    this.#cluster = cluster
    cluster.nodes.push(this)
  }

  follow(): void {
    const { time, random, conditions } = this.setting
    const due = this.#cluster.entries.length
    this.#due = due
    this.#caughtUp = Math.max(this.#caughtUp, time.now + random.int(0, conditions.lag ?? 0))
    time.after(this.#caughtUp - time.now, () => {
      if (!this.isUp) return
      this.#apply(due)
      this.#answer()
    })
  }

  protected override get position(): number {
    return this.engine.position
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
        // Another node may have been faster, and the response must follow its entry.
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
