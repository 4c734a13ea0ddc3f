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
 * Turns by finger or mouse: each a stream of degrees by which it moved around the centre. Where it took hold does not
 * matter, as with a real dial; so touching it while scrolling turns nothing.
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
  // Or the page would scroll, and take the finger away; inside of a drawing, `touch-action` is not heeded.
  const touch$ = fromEvent(handle, 'touchstart', { passive: false }).pipe(
    tap(event => event.preventDefault()),
    ignoreElements(),
  )
  return merge(turn$, touch$)
}

/**
 * Turns by key: each lasts until the key is released, and is a stream of what its presses add.
 *
 * @param {Element} slider
 * @param {Partial<Record<string, number>>} keys
 * @returns {Turns}
 */
export function turnsByKey(slider, keys) {
  const press$ = /** @type {import('rxjs').Observable<KeyboardEvent>} */ (fromEvent(slider, 'keydown')).pipe(
    // With another key they are the browser's: back, the first tab.
    filter(({ key, altKey, ctrlKey, metaKey }) => key in keys && !(altKey || ctrlKey || metaKey)),
    // Otherwise the page scrolls.
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
 * Turns by button: each click one, by what `data-add` says.
 *
 * @param {Iterable<HTMLElement>} buttons
 * @returns {Turns}
 */
export const turnsByButton = buttons =>
  merge(...Array.from(buttons, button => fromEvent(button, 'click').pipe(map(() => of(Number(button.dataset['add']))))))

/** @param {Element} element @param {string} type */
const pointers = (element, type) => /** @type {import('rxjs').Observable<PointerEvent>} */ (fromEvent(element, type))
