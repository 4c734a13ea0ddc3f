import { connect } from 'rx-statestore'
import { merge, tap } from 'rxjs'
import { historyOf, keysOf } from '../keys.js'
import { showChanges } from './changes.js'
import { showConnection } from './connection.js'
import { find } from './find.js'
import { showMode } from './mode.js'
import { showReadings } from './readings.js'
import { showSetPoint } from './set-point.js'
import { showTimeline } from './timeline.js'

// The store has the same address as this page.
const store = connect(new URL('store', location.href.replace(/^http/, 'ws')).href, { reconnect: { max: 3_000 } })
const keys = keysOf(store)

// The page is a stream like any other: it works while it has a subscriber.
merge(
  showSetPoint(keys),
  showMode(keys),
  showReadings(keys),
  showChanges(keys),
  showTimeline(keys, historyOf(store)),
  showConnection(store, keys),
  store.errors$.pipe(tap(({ message }) => showFailure(message))),
).subscribe({ error: ({ message }) => showFailure(`This page has stopped: ${message}`) })

/**
 * Shows an error, either of a stream that continues, such as an undecodable value, or one that ends the page.
 *
 * @param {string} text
 */
function showFailure(text) {
  find('#failure').textContent = text
}
