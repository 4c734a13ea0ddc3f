import { timeOfDay } from './time.js'

interface VersionParts {
  readonly wallClock: number
  readonly counter: number
}

export const shortVersion = ({ wallClock, counter }: VersionParts): string => `${timeOfDay(wallClock)}·${counter}`
