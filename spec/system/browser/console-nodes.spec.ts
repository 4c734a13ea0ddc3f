import { expect, it, onTestFinished } from 'vitest'
import { serve } from '../../../src/server/index.js'
import { jetStreamLog } from '../../../src/server/log/jetstream/index.js'
import { NatsCluster } from '../../support/nats-cluster.js'
import { openClient } from '../../support/open-client.js'
import { SERVICES } from '../../support/services.js'
import { expectAccessible } from './support/accessibility.js'
import { describeInBrowser } from './support/browser.js'
import { ConsolePage, startConsole } from './support/console.js'
import { takePictures } from './support/looks.js'
import { reads, recordTexts } from './support/waiting.js'

describeInBrowser('Nodes on the console', open => {
  it.skipIf(!SERVICES.nats.present)(
    'the store view lists the nodes with lag and clients, and marks late and offline nodes',
    async () => {
      const nats = await NatsCluster.start(1)
      onTestFinished(async () => nats.stop())
      const log = (nodeId: string) => jetStreamLog({ servers: nats.servers, name: 'plant-1', nodeId, replicas: 1 })
      const { server } = await startConsole([], { log: log('north') })
      const south = await serve({ port: 0, wsPort: 0, log: log('south') })
      onTestFinished(async () => south.close())
      openClient(south.url)
      const { page } = await open(server.link)
      const ui = new ConsolePage(page)
      await ui.goTo('Store')
      const nodes = page.getByRole('region', { name: 'Nodes' })
      await reads(nodes.getByRole('heading'), 'Nodes of plant-1')
      const row = (id: string) => nodes.getByRole('row').filter({ hasText: id })
      await reads(row('north').locator('[data-label=seen]'), 'now')
      await reads(row('north').getByRole('rowheader'), /this node/)
      await reads(row('south').locator('[data-label=clients]'), '1')
      await reads(row('south').locator('[data-label=state]'), 'Live')
      await reads(ui.health, /Live\s*· 2\/2 nodes/)
      // A single node cannot discard the cluster's keys.
      expect(await page.getByRole('button', { name: 'Discard keys…' }).count()).toBe(0)
      const state = row('south').locator('[data-label=state]')
      const states = await recordTexts(state)
      await south.close()
      await reads(ui.health, /Live\s*· 1\/2 nodes/)
      await reads(state, 'Offline')
      expect(await states()).toContainEqual(expect.stringContaining('No heartbeat'))
      await reads(row('south').locator('[data-label=clients]'), '–')
      await expectAccessible(page)
      await takePictures(page, 'console-nodes')
    },
  )
})
