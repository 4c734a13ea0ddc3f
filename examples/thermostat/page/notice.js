import { find } from './find.js'
import { mark, say } from './states.js'

/**
 * What a notice says. `details` is the message of an error, which the user can open.
 *
 * @typedef {{ state: import('./states.js').State, words: string, details?: string | undefined }} Said
 */

/** A notice in a place that is reserved for it, so that nothing moves when it appears. */
export class Notice {
  #root
  #details

  /** @param {Element} root */
  constructor(root) {
    const parts = /** @type {HTMLTemplateElement} */ (find('#notice-parts'))
    root.prepend(parts.content.cloneNode(true))
    this.#root = root
    this.#details = /** @type {HTMLDetailsElement} */ (find('details', root))
  }

  /** @param {Said | undefined} said - undefined if there is nothing to say */
  show(said) {
    const { state = 'live', words = '', details = '' } = said ?? {}
    this.#root.classList.toggle('empty', said === undefined)
    mark(this.#root, state)
    // A refusal interrupts a screen reader, and other states do not.
    say(find('[role=alert]', this.#root), state === 'refused' ? words : '')
    say(find('[role=status]', this.#root), state === 'refused' ? '' : words)
    if (details === '') this.#details.open = false
    this.#details.hidden = details === ''
    say(find('.cause', this.#root), details)
  }
}
