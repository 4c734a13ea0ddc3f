import type { Happened, History } from './history.js'
import { FIELDS, type Field } from './shadow-schedule.js'

/** What is wished of a device, and what it says. */
export type Document = Partial<Record<Field | 'measured', number>>

/** A wish, which nobody else ever has. */
export interface Wish {
  readonly field: Field
  readonly value: number
}

export const DESIRED = 'pump/desired'
export const REPORTED = 'pump/reported'

/** A document in the store. */
export const documentOf = (value: string | undefined): Document => (value === undefined ? {} : JSON.parse(value))

/**
 * What is wrong with what became of a document: fields that nobody wished, that come back after somebody wished something else,
 * or that are gone though nobody deleted anything.
 */
export function judgeDocument(key: string, history: History, wishes: ReadonlyMap<number, Wish>): string[] {
  const complaints: string[] = []
  let [before, life, former]: [Document, number, Set<number>] = [{}, 0, new Set()]
  for (const change of history.all.filter(one => one.key === key)) {
    // A store that lost its data knows nothing of before.
    if (change.life !== life) [before, life, former] = [{}, change.life, new Set()]
    const after = change.op === 'set' ? documentOf(change.value) : {}
    for (const field of FIELDS) {
      const complaint = judgeField(field, before[field], after[field], { change, former, wishes })
      if (complaint !== undefined) complaints.push(`${key} ${complaint}`)
    }
    // The device does again what nobody remembers that it has done.
    if (key === REPORTED && change.op === 'delete') former = new Set()
    before = after
  }
  return complaints
}

interface Circumstances {
  readonly change: Happened
  /** Values that were replaced or deleted. */
  readonly former: Set<number>
  readonly wishes: ReadonlyMap<number, Wish>
}

function judgeField(
  field: Field,
  before: number | undefined,
  after: number | undefined,
  { change, former, wishes }: Circumstances,
): string | undefined {
  if (before === after) return undefined
  if (before !== undefined) former.add(before)
  if (after === undefined) return change.op === 'set' ? `loses ${field} ${before}` : undefined
  if (wishes.get(after)?.field !== field) return `has ${field} ${after}, which nobody wished`
  return former.has(after) ? `brings back ${field} ${after}` : undefined
}

/** Where a field was given a value last, in the life of the store that is. */
export function placeOf({ field, value }: Wish, history: History): number {
  const places = history.all.map((change, at) => {
    const isIt = change.key === DESIRED && change.life === history.life && documentOf(change.value)[field] === value
    return isIt ? at : -1
  })
  return Math.max(-1, ...places)
}
