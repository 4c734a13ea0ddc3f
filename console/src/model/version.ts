import { timeOfDay } from './time.js'

/** The part of a version that is shown. */
interface Reading {
  readonly wallClock: number
  readonly counter: number
}

/** A version or fencing token in few signs: time of day and counter. */
export const shortVersion = ({ wallClock, counter }: Reading): string => `${timeOfDay(wallClock)}·${counter}`

/** The same of its wire form; that itself when it is none. */
export function shortVersionOf(wire: string): string {
  const [, wallClock, counter] = /^(\d+):(\d+):/.exec(wire) ?? []
  return counter === undefined ? wire : shortVersion({ wallClock: Number(wallClock), counter: Number(counter) })
}
