import { BehaviorSubject, filter, firstValueFrom, switchMap } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import { connectStore } from '../../../../console/src/state/store-link.js'
import { type StateStore, systemClock } from '../../../../src/client/index.js'
import type { StoreFacts } from '../../../../src/server/console/contract.js'
import { eventually } from '../../../support/eventually.js'
import { layLink } from '../../../support/link.js'
import { openStore } from '../../../support/open-store.js'

it('a client that is silent when the page has reconnected is replaced', {
  tags: 'slow',
  timeout: 60_000,
}, async () => {
  const { store } = await openStore({ clock: systemClock })
  const link = await layLink(store.wsUrl)
  const wsUrl = link.url.replace('mqtt:', 'ws:')
  const facts$ = new BehaviorSubject<StoreFacts>({ url: store.url, wsUrl, seeded: false, version: '1.2.3' })
  const store$ = connectStore(facts$, 'page', '')
  const clients: StateStore[] = []
  const subscription = store$.subscribe(client => clients.push(client))
  onTestFinished(() => subscription.unsubscribe())
  const connected = (): Promise<unknown> =>
    firstValueFrom(
      store$.pipe(
        switchMap(({ status$ }) => status$),
        filter(({ state }) => state === 'connected'),
      ),
    )
  await connected()
  // A connection that works stays.
  facts$.next({ ...facts$.value })
  await firstValueFrom(store.requests$)
  expect(clients.length).toBe(1)
  link.stall('up')
  link.stall('down')
  facts$.next({ ...facts$.value })
  await eventually(() => clients.length === 2)
  await connected()
})
