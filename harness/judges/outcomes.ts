/** What a client knows about a request when the request has ended: applied, possibly applied, or never applied. */
export type Knowledge = 'done' | 'open' | 'not done'

const TIMES = { done: [1, 1], open: [0, 1], 'not done': [0, 0] } as const

/** Returns the minimum and the maximum number of times that a request may have been applied. */
export const possibleTimes = (knowledge: Knowledge): readonly [least: number, most: number] => TIMES[knowledge]

/** Returns whether a request may have been applied this many times. */
export function isPossible(knowledge: Knowledge, times: number): boolean {
  const [minTimes, maxTimes] = possibleTimes(knowledge)
  return times >= minTimes && times <= maxTimes
}

/**
 * What each result of a write or of a send to a hub implies. A result is `applied`, `refused` by a condition, `acked`,
 * `cancelled` by the caller, or the code of an error.
 */
const KNOWLEDGE: Readonly<Record<string, Knowledge>> = {
  applied: 'done',
  refused: 'not done',
  acked: 'done',
  cancelled: 'open',
  'outcome-unknown': 'open',
  timeout: 'not done',
  closed: 'not done',
  overflow: 'not done',
  'connection-refused': 'not done',
  'no-store': 'not done',
  'request-rejected': 'not done',
  'pubsub-refused': 'not done',
}

/** Returns what a result implies, or `undefined` for any other error. */
export const knowledgeOf = (outcome: string): Knowledge | undefined => KNOWLEDGE[outcome]
