import { combineLatest, map, scan, tap, timer } from 'rxjs'
import { STATES } from '../../../design/states.js'
import { find } from './find.js'
import { mark, say } from './states.js'
import { timeOf } from './time.js'

/** @typedef {import('rx-statestore').Status} Status */
/** @typedef {import('rx-statestore').ClientStats} ClientStats */

/** Refresh interval of the countdown to the next attempt, ms. */
const TICK = 500

/**
 * Shows the state of the connection in plain words, and a pip for every key, which is lit while the value of the key is
 * current.
 *
 * @param {import('rx-statestore').StateStore} store
 * @param {import('../keys.js').Keys} keys
 */
export function showConnection({ status$, stats$ }, keys) {
  // All keys share the connection, so the freshness of any key contains the time since which values are stale.
  const since$ = keys.setPoint.freshness$.pipe(
    scan(
      (since, freshness) => (freshness.state === 'stale' ? freshness.since : since),
      /** @type {number | undefined} */ (undefined),
    ),
  )
  return combineLatest([status$, stats$, since$, timer(0, TICK)]).pipe(
    map(([status, stats, since]) => inWords(status, stats, since, Date.now())),
    tap(said => show(said, Object.keys(keys).length)),
  )
}

/**
 * @param {Status} status
 * @param {ClientStats} stats
 * @param {number | undefined} since - when values were last stale, undefined if never
 * @param {number} now - ms since the Unix epoch
 * @returns {{ state: import('./states.js').State, words: string, detail: string, synced: number }}
 */
function inWords(status, { keys, synced }, since, now) {
  const connected = status.state === 'connected'
  if (status.state === 'closed')
    return { state: 'refused', words: STATES.refused.word, detail: 'reload to try again', synced: 0 }
  if (connected && keys > 0 && synced === keys) {
    return { state: 'live', words: STATES.live.word, detail: 'all values are current', synced }
  }
  const detail = connected ? `reading ${synced} of ${keys}` : waitOf(status, now)
  return since === undefined
    ? { state: 'connecting', words: STATES.connecting.word, detail, synced: connected ? synced : 0 }
    : { state: 'stale', words: `${STATES.stale.word} since ${timeOf(since)}`, detail, synced: connected ? synced : 0 }
}

/** @param {Status} status @param {number} now */
function waitOf(status, now) {
  const seconds = status.state === 'reconnecting' ? Math.ceil(((status.retryAt ?? now) - now) / 1000) : 0
  return seconds > 0 ? `retry in ${seconds} s` : 'trying'
}

/**
 * @param {ReturnType<typeof inWords>} said
 * @param {number} count - number of keys
 */
function show({ state, words, detail, synced }, count) {
  document.body.setAttribute('data-connection', state)
  mark(find('#connection'), state)
  say(find('#connection .words'), words)
  say(find('#connection .detail'), detail)
  const pips = find('#connection .pips')
  while (pips.childElementCount < count) pips.append(document.createElement('i'))
  Array.from(pips.children, (pip, i) => pip.classList.toggle('on', i < synced))
}
