/** Something done again and again at random intervals, until it is paused. */
export class Pace {
  #random
  #mean
  #action
  /** @type {NodeJS.Timeout | undefined} */
  #timer

  /**
   * @param {import('./random.js').Random} random
   * @param {number} mean - ms between two times
   * @param {() => void} action
   */
  constructor(random, mean, action) {
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
 * Waits until something holds; whether it did before the deadline.
 *
 * @param {number} deadline - ms from now
 * @param {() => boolean | Promise<boolean>} holds
 */
export async function until(deadline, holds) {
  const end = performance.now() + deadline
  while (!(await holds())) {
    if (performance.now() > end) return false
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  return true
}
