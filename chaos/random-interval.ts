import { setTimeout as wait } from 'node:timers/promises'
import type { Random } from '../harness/random.js'

/** Repeats an action at random intervals until it is paused. */
export class RandomInterval {
  #random
  #mean
  #action
  #timer: NodeJS.Timeout | undefined

  /** @param mean - mean interval in ms */
  constructor(random: Random, mean: number, action: () => void) {
    this.#random = random
    this.#mean = mean
    this.#action = action
  }

  resume() {
    this.pause()
    const gap = -Math.log(1 - this.#random.next()) * this.#mean
    this.#timer = setTimeout(() => {
      this.resume()
      this.#action()
    }, gap)
  }

  pause() {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}

/** Waits for the end of an action. Returns whether it ended within a time in ms. */
export const endsWithin = (ms: number, action: Promise<unknown>) =>
  Promise.race([action.then(() => true), wait(ms, false, { ref: false })])

/**
 * Waits until a condition holds. Returns whether it held before the deadline.
 *
 * @param deadline - ms from now
 */
export async function until(deadline: number, holds: () => boolean | Promise<boolean>) {
  const end = performance.now() + deadline
  while (!(await holds())) {
    if (performance.now() > end) return false
    await wait(20)
  }
  return true
}
