import { connect } from 'rx-statestore'
import { merge, tap } from 'rxjs'
import { historyOf, keysOf } from '../keys.js'
import { showChanges } from './changes.js'
import { showConnection } from './connection.js'
import { find } from './find.js'
import { showMode } from './mode.js'
import { Notice } from './notice.js'
import { showReadings } from './readings.js'
import { showSetPoint } from './set-point.js'
import { showTimeline } from './timeline.js'

// The store has the same address as this page.
const store = connect(new URL('store', location.href.replace(/^http/, 'ws')).href, { reconnect: { max: 3_000 } })
const keys = keysOf(store)

const failure = new Notice(find('#failure'))
find('#failure .close').addEventListener('click', () => failure.show(undefined))

// The page is a stream like any other: it works while it has a subscriber.
merge(
  showSetPoint(keys),
  showMode(keys),
  showReadings(keys),
  showChanges(keys),
  showTimeline(keys, historyOf(store)),
  showConnection(store, keys),
  // These streams continue, for example after a value that cannot be decoded.
  store.errors$.pipe(tap(error => showFailure('Some values cannot be shown.', error))),
).subscribe({ error: error => showFailure('This page has stopped. Reload it.', error) })

/** @param {string} words @param {Error} error */
function showFailure(words, { message }) {
  failure.show({ state: 'refused', words, details: message })
}
