import type { Locator, Page } from 'playwright-core'
import { has, reads } from './waiting.js'

/** The geometry of the drawing, in fractions of its width, and in degrees clockwise from three o'clock. */
const RADIUS = 124 / 320
const FROM = 135
const SWEEP = 270
/** The lowest set point, in °C. */
const MIN = 10
const MAX = 30
/** The distance between two set points, in °C. */
const STEP = 0.5

export interface Place {
  readonly x: number
  readonly y: number
}

export class DialControl {
  readonly slider: Locator
  readonly #page: Page

  constructor(page: Page) {
    this.#page = page
    this.slider = page.getByRole('slider', { name: 'Set point' })
  }

  /** Resolves when the dial shows this set point, also to assistive technology. */
  async shows(value: number): Promise<void> {
    await has(this.slider, 'aria-valuenow', String(value))
    await reads(this.slider, value.toFixed(1))
  }

  async placeOf(value: number): Promise<Place> {
    const box = await this.#page.locator('#dial > svg').boundingBox()
    if (box === null) throw new Error('There is no dial')
    const angle = ((FROM + ((value - MIN) / (MAX - MIN)) * SWEEP) * Math.PI) / 180
    const [x, y] = [Math.cos(angle), Math.sin(angle)].map(part => box.width * (0.5 + RADIUS * part))
    return { x: box.x + (x ?? 0), y: box.y + (y ?? 0) }
  }

  async grab(value: number): Promise<void> {
    const { x, y } = await this.placeOf(value)
    await this.#page.mouse.move(x, y)
    await this.#page.mouse.down()
  }

  /** Drags along the arc, to each set point on the way. */
  async move(from: number, to: number): Promise<void> {
    for (const value of between(from, to)) {
      const { x, y } = await this.placeOf(value)
      await this.#page.mouse.move(x, y)
    }
  }

  async release(): Promise<void> {
    await this.#page.mouse.up()
  }

  /** Records every displayed set point. The returned function returns all of them. */
  async record(): Promise<() => Promise<readonly number[]>> {
    const notes = await this.slider.evaluateHandle(slider => {
      const values: number[] = []
      new MutationObserver(() => values.push(Number(slider.getAttribute('aria-valuenow')))).observe(slider, {
        attributeFilter: ['aria-valuenow'],
      })
      return values
    })
    // A write may repeat the current value.
    return async () => (await notes.jsonValue()).filter((value, i, all) => value !== all[i - 1])
  }
}

/** Returns the set points between two of them, without the first one. */
export function between(from: number, to: number): readonly number[] {
  const count = Math.abs(to - from) / STEP
  return Array.from({ length: count }, (_, i) => from + Math.sign(to - from) * (i + 1) * STEP)
}
