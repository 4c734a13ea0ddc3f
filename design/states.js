/**
 * The states of what a page shows, each with its word and its icon: the path of a line drawing of 16 by 16 units. The
 * colours are in states.css.
 *
 * - `connecting`: nothing is known yet.
 * - `live`: the value is current.
 * - `pending`: the value waits to be stored.
 * - `stale`: the value may be outdated.
 * - `refused`: the client has no access, or the last change was not made.
 */
export const STATES = /** @type {const} */ ({
  connecting: { word: 'Connecting', icon: 'M3.5 8h0M8 8h0M12.5 8h0' },
  live: { word: 'Live', icon: 'M8 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z' },
  pending: { word: 'Saving…', icon: 'M8 3a5 5 0 1 1-5 5' },
  stale: { word: 'Stale', icon: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3l2 1.5' },
  refused: { word: 'No access', icon: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM4.1 4.1l7.8 7.8' },
})

/** @typedef {keyof typeof STATES} State */
