import { STATES } from '../../../design/states.js'
import { find } from './find.js'

/** @typedef {import('../../../design/states.js').State} State */

/** Gives an element the colour and the icon of a state. @param {Element} root @param {State} state */
export function mark(root, state) {
  root.setAttribute('data-state', state)
  find('.icon path', root).setAttribute('d', STATES[state].icon)
}

/** Writes only changes, because screen readers announce every write. @param {Element} element @param {string} text */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text
}
