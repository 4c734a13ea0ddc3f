/** What the client knows of a request that has ended: it was done, it may have been done, or it never will be. */
export type Knowledge = 'done' | 'open' | 'not done'

const TIMES = { done: [1, 1], open: [0, 1], 'not done': [0, 0] } as const

/** Returns how often a request may have been done, at least and at most. */
export const timesOf = (knowledge: Knowledge): readonly [least: number, most: number] => TIMES[knowledge]

/** Returns whether a request may have been done so many times. */
export function isTrue(knowledge: Knowledge, times: number): boolean {
  const [least, most] = timesOf(knowledge)
  return times >= least && times <= most
}
