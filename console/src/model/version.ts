import { timeOfDay } from './time.js'

interface VersionParts {
  readonly wallClock: number
  readonly counter: number
}

export const shortVersion = ({ wallClock, counter }: VersionParts): string => `${timeOfDay(wallClock)}·${counter}`

/** Formats a version that is given in wire form. Returns malformed text unchanged. */
export function shortVersionOf(wire: string): string {
  const [, wallClock, counter] = /^(\d+):(\d+):/.exec(wire) ?? []
  return counter === undefined ? wire : shortVersion({ wallClock: Number(wallClock), counter: Number(counter) })
}
