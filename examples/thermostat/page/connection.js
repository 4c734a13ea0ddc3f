import { combineLatest, map, scan, tap, timer } from 'rxjs'
import { find } from './find.js'
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
  const wasLive$ = stats$.pipe(scan((was, stats) => was || isLive(stats), false))
  // All keys share the connection, so the freshness of any key contains the time since which values are stale.
  return combineLatest([status$, stats$, keys.setPoint.freshness$, wasLive$, timer(0, TICK)]).pipe(
    map(([status, stats, freshness, wasLive]) => inWords(status, stats, freshness, wasLive, Date.now())),
    tap(said => show(said, Object.keys(keys).length)),
  )
}

/** @param {ClientStats} stats */
const isLive = ({ keys, synced }) => keys > 0 && synced === keys

/**
 * @param {Status} status
 * @param {ClientStats} stats
 * @param {import('rx-statestore').Freshness} freshness
 * @param {boolean} wasLive
 * @param {number} now - ms since the Unix epoch
 */
function inWords(status, stats, freshness, wasLive, now) {
  switch (status.state) {
    case 'connecting':
      return { state: 'connecting', words: 'Connecting to the store' }
    case 'connected': {
      const { keys, synced } = stats
      if (isLive(stats)) return { state: 'live', words: `Live: all ${keys} keys are current`, synced }
      return { state: 'resyncing', words: `${wasLive ? 'Resyncing' : 'Reading'} ${synced} of ${keys} keys`, synced }
    }
    case 'reconnecting': {
      const words = freshness.state === 'stale' ? `Stale since ${timeOf(freshness.since)}` : 'No connection yet'
      return { state: 'stale', words, detail: waitOf(status.retryAt ?? now, now) }
    }
    case 'closed':
      return { state: 'closed', words: 'The connection was closed' }
  }
}

/** @param {number} retryAt @param {number} now */
function waitOf(retryAt, now) {
  const seconds = Math.ceil((retryAt - now) / 1000)
  return seconds > 0 ? `next try in ${seconds} s` : 'trying'
}

/**
 * @param {{ state: string, words: string, detail?: string, synced?: number }} said
 * @param {number} count - number of keys
 */
function show({ state, words, detail = '', synced = 0 }, count) {
  document.body.setAttribute('data-connection', state)
  say('#connection .words', words)
  say('#connection .detail', detail)
  const pips = find('#connection .pips')
  while (pips.childElementCount < count) pips.append(document.createElement('i'))
  Array.from(pips.children, (pip, i) => pip.classList.toggle('on', i < synced))
}

/** Writes only changes, because screen readers announce every write. @param {string} selector @param {string} text */
function say(selector, text) {
  const element = find(selector)
  if (element.textContent !== text) element.textContent = text
}
