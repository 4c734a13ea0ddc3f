import type { Random } from './random.js'

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

/**
 * Waits until a condition holds. Returns whether it held before the deadline.
 *
 * @param deadline - ms from now
 */
export async function until(deadline: number, holds: () => boolean | Promise<boolean>) {
  const end = performance.now() + deadline
  while (!(await holds())) {
    if (performance.now() > end) return false
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  return true
}
