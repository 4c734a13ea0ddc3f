import { defer, distinctUntilChanged, filter, map, merge, scan, skip, startWith } from 'rxjs'
import { ARC, across, angleOf, pointAt, RADIUS, SWEEP } from './arc.js'
import { find } from './find.js'
import { turnsByButton, turnsByKey, turnsByPointer } from './turns.js'

/** Range and step of the dial, °C. */
const MIN = 10
const MAX = 30
const STEP = 0.5

/** The change that each key makes; Home and End go to the ends of the dial. */
const KEYS = {
  ArrowUp: STEP,
  ArrowRight: STEP,
  ArrowDown: -STEP,
  ArrowLeft: -STEP,
  PageUp: 4 * STEP,
  PageDown: -4 * STEP,
  Home: MIN - MAX,
  End: MAX - MIN,
}

/**
 * A round dial for touch, mouse, keyboard and buttons. The dial shows the given value and emits the values that the
 * user wants.
 */
export class Dial {
  /**
   * Emits every turn, as a stream of values that ends when the user lets go.
   *
   * @type {import('rxjs').Observable<import('rxjs').Observable<number>>}
   */
  turns$
  #root
  #slider
  #buttons
  /** @type {number | undefined} */
  #value

  /** @param {Element} root */
  constructor(root) {
    this.#root = root
    this.#slider = find('[role=slider]', root)
    this.#buttons = root.querySelectorAll('button')
    for (const path of root.querySelectorAll('.track, .value, .grip')) path.setAttribute('d', ARC)
    find('.ticks', root).setAttribute('d', TICKS)

    const drawing = find('svg', root)
    const turns$ = ['.grip', '.knob'].map(handle => turnsByPointer(find(handle, root), drawing))
    const byPointer$ = merge(...turns$).pipe(
      map(degrees$ => degrees$.pipe(map(degrees => (degrees / SWEEP) * (MAX - MIN)))),
    )
    const byButton$ = turnsByButton(this.#buttons)
    this.turns$ = merge(byPointer$, byButton$, turnsByKey(this.#slider, KEYS)).pipe(
      filter(() => this.#value !== undefined),
      map(changes$ => this.#valuesOf(changes$)),
    )
  }

  /** @param {number | undefined} value - undefined if unknown */
  show(value) {
    this.#value = value
    this.#root.classList.toggle('unknown', value === undefined)
    for (const button of this.#buttons) button.disabled = value === undefined
    find('.number', this.#root).textContent = value?.toFixed(1) ?? '–'
    this.#slider.setAttribute('aria-valuetext', value === undefined ? 'not known' : `${value.toFixed(1)} degrees`)
    this.#slider.setAttribute('aria-valuenow', String(value ?? MIN))
    const [x, y] = pointAt(angleOf(shareOf(value ?? MIN)), RADIUS)
    find('.knob', this.#root).setAttribute('transform', `translate(${x} ${y})`)
    find('.value', this.#root).setAttribute('stroke-dasharray', `${shareOf(value ?? MIN)} 2`)
  }

  /** @param {number | undefined} temperature */
  showRoom(temperature) {
    const mark = temperature === undefined ? '' : across(shareOf(temperature), RADIUS - 12, RADIUS + 12)
    find('.room', this.#root).setAttribute('d', mark)
  }

  /**
   * @param {import('rxjs').Observable<number>} changes$
   * @returns {import('rxjs').Observable<number>}
   */
  #valuesOf(changes$) {
    return defer(() => {
      const start = this.#value ?? MIN
      return changes$.pipe(
        scan((exact, change) => clamp(exact + change), start),
        map(exact => Math.round(exact / STEP) * STEP),
        startWith(start),
        distinctUntilChanged(),
        skip(1),
      )
    })
  }
}

/** @param {number} value */
const clamp = value => Math.min(MAX, Math.max(MIN, value))

/** @param {number} value */
const shareOf = value => (clamp(value) - MIN) / (MAX - MIN)

/** Path data of the ticks, one for every degree and a longer one for every fifth. */
const TICKS = Array.from({ length: MAX - MIN + 1 }, (_, i) =>
  across(i / (MAX - MIN), i % 5 === 0 ? RADIUS - 28 : RADIUS - 24, RADIUS - 19),
).join(' ')
