import {
  concat,
  exhaustMap,
  filter,
  fromEvent,
  ignoreElements,
  map,
  merge,
  of,
  pairwise,
  share,
  startWith,
  take,
  takeUntil,
  tap,
} from 'rxjs'
import { angleAt, turnBetween } from './arc.js'

/** @typedef {import('rxjs').Observable<import('rxjs').Observable<number>>} Turns */

/**
 * Emits the turns by finger or mouse, each as a stream of the degrees by which the pointer moved around the centre. As
 * with a real dial, the position of the first touch does not matter, so a touch while scrolling turns nothing.
 *
 * @param {Element} handle
 * @param {Element} drawing
 * @returns {Turns}
 */
export function turnsByPointer(handle, drawing) {
  const turn$ = pointers(handle, 'pointerdown').pipe(
    filter(({ button }) => button === 0),
    tap(({ pointerId }) => handle.setPointerCapture(pointerId)),
    map(down => {
      const mine = (/** @type {string} */ type) =>
        pointers(handle, type).pipe(filter(({ pointerId }) => pointerId === down.pointerId))
      return mine('pointermove').pipe(
        startWith(down),
        map(pointer => angleAt(pointer, drawing)),
        pairwise(),
        map(([from, to]) => turnBetween(from, to)),
        takeUntil(merge(mine('pointerup'), mine('pointercancel'))),
      )
    }),
  )
  // Otherwise the page would scroll and the browser would cancel the touch; inside a drawing, `touch-action` has no
  // effect.
  const touch$ = fromEvent(handle, 'touchstart', { passive: false }).pipe(
    tap(event => event.preventDefault()),
    ignoreElements(),
  )
  return merge(turn$, touch$)
}

/**
 * Emits the turns by key. Each lasts until the key is released, and is a stream of the changes that its presses make.
 *
 * @param {Element} slider
 * @param {Partial<Record<string, number>>} keys
 * @returns {Turns}
 */
export function turnsByKey(slider, keys) {
  const press$ = /** @type {import('rxjs').Observable<KeyboardEvent>} */ (fromEvent(slider, 'keydown')).pipe(
    // Combinations with a modifier belong to the browser, such as going back or the first tab.
    filter(({ key, altKey, ctrlKey, metaKey }) => key in keys && !(altKey || ctrlKey || metaKey)),
    // Otherwise the page would scroll.
    tap(event => event.preventDefault()),
    map(({ key }) => keys[key] ?? 0),
    share(),
  )
  const release$ = merge(fromEvent(slider, 'keyup'), fromEvent(slider, 'blur')).pipe(take(1))
  return press$.pipe(
    exhaustMap(first =>
      concat(of(press$.pipe(startWith(first), takeUntil(release$))), release$.pipe(ignoreElements())),
    ),
  )
}

/**
 * Emits the turns by button. Each click is a turn by the value of `data-add`.
 *
 * @param {Iterable<HTMLElement>} buttons
 * @returns {Turns}
 */
export const turnsByButton = buttons =>
  merge(...Array.from(buttons, button => fromEvent(button, 'click').pipe(map(() => of(Number(button.dataset['add']))))))

/** @param {Element} element @param {string} type */
const pointers = (element, type) => /** @type {import('rxjs').Observable<PointerEvent>} */ (fromEvent(element, type))
