import { find } from './find.js'

/**
 * The states of what the page shows, the same as those of the console. Each has an icon, and a colour in the style
 * sheet. `connecting`: nothing is known yet. `live`: the value is current. `pending`: the value waits to be stored.
 * `stale`: the value may be outdated. `refused`: the last change was not made.
 *
 * @typedef {'connecting' | 'live' | 'pending' | 'stale' | 'refused'} State
 */

/** Paths of line drawings of 16 by 16 units. @type {Readonly<Record<State, string>>} */
const ICONS = {
  connecting: 'M3.5 8h0M8 8h0M12.5 8h0',
  live: 'M8 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z',
  pending: 'M8 3a5 5 0 1 1-5 5',
  stale: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3l2 1.5',
  refused: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM4.1 4.1l7.8 7.8',
}

/** Gives an element the colour and the icon of a state. @param {Element} root @param {State} state */
export function mark(root, state) {
  root.setAttribute('data-state', state)
  find('.icon path', root).setAttribute('d', ICONS[state])
}

/** Writes only changes, because screen readers announce every write. @param {Element} element @param {string} text */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text
}
