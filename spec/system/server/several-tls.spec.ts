import { firstValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import { Authority } from '../../../harness/certificates.js'
import { systemClock, text } from '../../../src/client/index.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'

it('A client that switches protocols and host names asks for the certificate of each name', async () => {
  const authority = new Authority('/CN=Servers')
  const { store } = await openStore({ clock: systemClock, tls: authority.issue('/CN=localhost') })
  const { store: last } = await openStore({ clock: systemClock })
  const port = new URL(store.url).port
  // Each certificate is valid only for its names, and the proxy has no others.
  const urls = [store.url, `mqtts://localhost:${port}`, store.wsUrl.replace('127.0.0.1', 'localhost'), last.url]
  const inOrder = { reconnect: { initial: 1, max: 20, random: () => 0 } }
  for (let first = 0; first < urls.length; first++) {
    const order = urls.map((_, i) => urls[(first + i) % urls.length] ?? '')
    const client = openClient(['mqtts://127.0.0.1:1', ...order], { ca: authority.cert, ...inOrder })
    const status = record(client.status$)
    await status.until(({ values }) => values.at(-1)?.state === 'connected')
    expect(status.values.at(-1)).toMatchObject({ url: order[0] })
    expect(await firstValueFrom(client.key('a', text).get())).toMatchObject({ op: 'absent' })
  }
})
