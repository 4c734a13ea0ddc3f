// A candidate for running the pump station: it writes the speed only while it leads.

import { connect, json, set } from 'rx-statestore'
import { fenced, leadership } from 'rx-statestore/lease'
import { EMPTY, map, switchMap, tap, timer } from 'rxjs'
import { LEASE, SPEED, STATION } from './station.js'

/** How often the leader writes, ms. */
const WRITE_EVERY = 100

const [url = '', name = ''] = process.argv.slice(2)
const store = connect(url, { clientId: name })

/** @param {import('./station.js').News} news */
const tell = news => process.send?.(news)

/**
 * The work of a leader, in the name of its token: the next leader is not disturbed by a write that comes late.
 *
 * @param {import('rx-statestore').Hlc} token
 */
const run$ = token =>
  timer(0, WRITE_EVERY).pipe(
    map(count => ({ by: name, rpm: 900 + count })),
    set(fenced(store, token).key(SPEED, json()), { latest: true, onError: 'emit' }),
  )

leadership(store, STATION, LEASE)
  .pipe(
    tap(state => tell(state.role === 'leader' ? { role: state.role, token: String(state.token) } : state)),
    switchMap(state => (state.role === 'leader' ? run$(state.token) : EMPTY)),
  )
  .subscribe()

// Closing the client releases the lease, so the next leader takes over immediately.
process.on('message', () => store.close().then(() => process.disconnect()))
process.on('disconnect', () => process.exit())
