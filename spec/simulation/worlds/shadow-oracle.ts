import type { Change, History } from '../../../harness/judges/history.js'
import { FIELDS, type Field } from './shadow-schedule.js'

export type Document = Partial<Record<Field | 'measured', number>>

/** A desired value, which is unique in the simulation. */
export interface Wish {
  readonly field: Field
  readonly value: number
}

export const DESIRED = 'pump/desired'
export const REPORTED = 'pump/reported'

export const documentOf = (value: string | undefined): Document => (value === undefined ? {} : JSON.parse(value))

/**
 * Returns the violations in the history of a document: fields that were never desired, that reappear after another
 * value was desired, or that disappear without a deletion.
 */
export function judgeDocument(key: string, history: History, wishes: ReadonlyMap<number, Wish>): string[] {
  const complaints: string[] = []
  let [before, instance, former]: [Document, number, Set<number>] = [{}, 0, new Set()]
  for (const change of history.all.filter(one => one.key === key)) {
    // A store that lost its data knows no earlier changes.
    if (change.instance !== instance) [before, instance, former] = [{}, change.instance, new Set()]
    const after = change.op === 'set' ? documentOf(change.value) : {}
    for (const field of FIELDS) {
      const complaint = judgeField(field, before[field], after[field], { change, former, wishes })
      if (complaint !== undefined) complaints.push(`${key} ${complaint}`)
    }
    // The device repeats an action whose report was lost.
    if (key === REPORTED && change.op === 'delete') former = new Set()
    before = after
  }
  return complaints
}

interface FieldContext {
  readonly change: Change
  readonly former: Set<number>
  readonly wishes: ReadonlyMap<number, Wish>
}

function judgeField(
  field: Field,
  before: number | undefined,
  after: number | undefined,
  { change, former, wishes }: FieldContext,
): string | undefined {
  if (before === after) return undefined
  if (before !== undefined) former.add(before)
  if (after === undefined) return change.op === 'set' ? `loses ${field} ${before}` : undefined
  if (wishes.get(after)?.field !== field) return `has ${field} ${after}, which was never desired`
  return former.has(after) ? `restores ${field} ${after}` : undefined
}

/** Returns the position of the last change of a field in the current store instance. */
export function positionOf({ field, value }: Wish, history: History): number {
  const positions = history.all.map((change, at) => {
    const isIt =
      change.key === DESIRED && change.instance === history.instance && documentOf(change.value)[field] === value
    return isIt ? at : -1
  })
  return Math.max(-1, ...positions)
}
