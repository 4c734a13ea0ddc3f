// A candidate for the control of the pump station, which writes the speed only while it leads.

import { connect, json, set } from 'rx-statestore'
import { fenced, leadership } from 'rx-statestore/lease'
import { EMPTY, map, switchMap, tap, timer } from 'rxjs'
import { LEASE, SPEED, STATION } from './station.js'

const WRITE_INTERVAL_MS = 100

const [url = '', name = ''] = process.argv.slice(2)
const store = connect(url, { clientId: name })

/** @param {import('./station.js').RoleReport} role */
const report = role => process.send?.(role)

/**
 * Does the work of a leader. Its writes carry the fencing token, so that a late write cannot disturb the next leader.
 *
 * @param {import('rx-statestore').Hlc} token
 */
const run$ = token =>
  timer(0, WRITE_INTERVAL_MS).pipe(
    map(count => ({ by: name, rpm: 900 + count })),
    set(fenced(store, token).key(SPEED, json()), { latest: true, onError: 'emit' }),
  )

leadership(store, STATION, LEASE)
  .pipe(
    tap(state => report(state.role === 'leader' ? { role: state.role, token: String(state.token) } : state)),
    switchMap(state => (state.role === 'leader' ? run$(state.token) : EMPTY)),
  )
  .subscribe()

// Closing the client releases the lease, so the next leader takes over immediately.
process.on('message', () => store.close().then(() => process.disconnect()))
process.on('disconnect', () => process.exit())
