import { afterIo } from '../../../core/util/clock.js'

let tasks: (() => void)[] = []

/**
 * Does a task when what the event loop has read is worked off, together with all others of this turn: to be called back for
 * each of a thousand connections would take as long as to write a packet to them. A task that throws keeps none from its turn.
 *
 * @example
 * ```ts
 * atTurnEnd(() => outflow.flush())
 * ```
 */
export function atTurnEnd(task: () => void): void {
  if (tasks.length === 0) afterIo(doAll)
  tasks.push(task)
}

function doAll(): void {
  const due = tasks
  tasks = []
  let done = 0
  try {
    for (const task of due) {
      done++
      task()
    }
  } finally {
    // After an error: the others go on when it is dealt with.
    for (const task of due.slice(done)) atTurnEnd(task)
  }
}
