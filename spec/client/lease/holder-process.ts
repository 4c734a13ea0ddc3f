import { lease } from '../../../src/client/lease/lease.js'
// A process that holds the lease and writes the protected key. It prints events as words and obeys two commands:
// `write` writes with the last token, and `stall` blocks until there is input.

import { readSync } from 'node:fs'
import { Observable, tap } from 'rxjs'
import { connect, type Hlc, StateStoreError, text } from '../../../src/client/index.js'
import { fenced, withLock } from '../../../src/client/lease/index.js'

const [url = '', duration = ''] = process.argv.slice(2)
const store = connect(url, { clientId: 'holder', reconnect: { initial: 5, max: 20 } })
const report = (what: string, then: () => void = () => undefined): void => void process.send?.(what, then)

let token: Hlc | undefined
let status = 'nothing'

const lease$ = lease(store, 'line-1', { duration: Number(duration) }).pipe(
  tap(state => {
    const renewal = state.status === 'held' && status === 'held'
    status = state.status
    if (state.status === 'held') token = state.token
    const what = state.status === 'lost' ? state.cause.reason : state.holder
    if (!renewal) report(`${state.status} ${what}`)
  }),
)

const work = (token: Hlc): Observable<never> =>
  new Observable(() => {
    report(`works by ${token}`)
    return () => report('stopped')
  })

/** Writes without checking the lease again, like a program that checked it earlier. */
function write(): void {
  const lastStatus = status
  const value = `by ${token}`
  fenced(store, token ?? '')
    .key('recipe', text)
    .set(value)
    .subscribe({
      next: () => report(`wrote ${value}`),
      error: error => report(`believed ${lastStatus}, got ${error instanceof StateStoreError ? error.code : error}`),
    })
}

function stall(): void {
  readSync(0, new Uint8Array(1))
  write()
}

withLock(lease$, work, { resume: true }).subscribe({ error: error => report(`failed: ${error}`) })
process.on('message', command => (command === 'stall' ? report('stalls', stall) : write()))
process.on('disconnect', () => process.exit())
