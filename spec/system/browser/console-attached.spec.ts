import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import { number, text } from '../../../src/client/index.js'
import { attach } from '../../../src/server/index.js'
import { accessRules, Mosquitto } from '../../support/mosquitto.js'
import { openAttached, untilState } from '../../support/open-attached.js'
import { openClient, record } from '../../support/open-client.js'
import { SERVICES } from '../../support/services.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { expectAccessible } from './support/accessibility.js'
import { describeInBrowser } from './support/browser.js'
import { ConsolePage, serveConsoleOf } from './support/console.js'
import { NO_SOCKET } from './support/guard.js'
import { takePictures } from './support/looks.js'
import { reads } from './support/waiting.js'

/**
 * The access rules of `docs/any-broker.md` for a page that logs in as `console`, plus the lines for the clients and the
 * store.
 */
const ACL = [
  ...accessRules('panel-7'),
  'user console',
  'topic read clients/+/services/statestore/#',
  'topic read clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/+/command/notify/+',
]

/** Starts Mosquitto with a WebSocket listener. Restarts use the same ports. */
async function brokerForPages(acl?: readonly string[]) {
  const [port, wsPort] = [await freePort(), await freePort()]
  const lines = [`listener ${wsPort} 127.0.0.1`, 'protocol websockets']
  const start = (): Promise<Mosquitto> => Mosquitto.launch({ port, lines, ...(acl && { acl }) })
  let broker = await start()
  return {
    url: broker.url,
    wsUrl: `ws://127.0.0.1:${wsPort}`,
    kill: () => broker.stop('SIGKILL'),
    revive: async () => {
      broker = await start()
    },
  }
}

describeInBrowser('The console of an attached store', open => {
  it.skipIf(!SERVICES.mosquitto.present)(
    'keys are shown and written through an external broker, without its operations',
    async () => {
      const broker = await brokerForPages(ACL)
      const store = await openAttached(broker.url, { username: 'store' })
      const server = await serveConsoleOf(store, { brokerUrl: broker.wsUrl, brokerLogin: { username: 'console' } })
      const client = openClient(broker.url, { clientId: 'panel-7', username: 'panel-7' })
      await client.key('speed', number).set(12)
      await client.key('note', text).set('old', { expiresIn: 600_000 })
      const seen = record(client.key('note', text).value$)
      const { page } = await open(server.link, { allow: [NO_SOCKET] })
      const ui = new ConsolePage(page)
      await reads(ui.health, 'live')
      await reads(ui.cell('speed', 'value'), '12')
      await reads(ui.cell('note', 'ttl'), /^\dm/)
      await client.key('speed', number).set(13)
      await reads(ui.cell('speed', 'value'), '13')

      await ui.open('note')
      await ui.press('Edit')
      await ui.fill({ Value: 'new' })
      await ui.decide('Set')
      await seen.until(({ values }) => values.at(-1) === 'new')
      await takePictures(page, 'console-attached-keys')

      await ui.goTo('Clients')
      await reads(page.getByRole('row', { name: 'panel-7' }).locator('[data-label=watches]'), '1')
      await page.getByRole('button', { name: 'panel-7', exact: true }).click()
      await page.getByRole('link', { name: 'note', exact: true }).waitFor()
      expect(await page.getByRole('button', { name: /^Disconnect/ }).count()).toBe(0)
      await expectAccessible(page)
      await takePictures(page, 'console-attached-clients')
      await ui.goTo('Store')
      await reads(page.getByRole('region', { name: 'Broker' }), /Active/)
      for (const name of [/Freeze/, /Keep keys/, /Discard keys/, /Reset/])
        expect(await page.getByRole('button', { name }).count()).toBe(0)
      await expectAccessible(page)
      await takePictures(page, 'console-attached', { whole: true })

      await broker.kill()
      await reads(ui.health, 'stale')
      await reads(page.getByRole('contentinfo'), /Cannot reach the broker: .* Values as of/)
      await reads(page.getByRole('region', { name: 'Broker' }), /unreachable/)
      await expectAccessible(page)
      await takePictures(page, 'console-attached-away', { whole: true })
      await broker.revive()
      await reads(ui.health, 'live')
      await reads(page.getByRole('region', { name: 'Broker' }), /Active/)
      await ui.goTo('Keys')
      await reads(ui.cell('note', 'value'), 'new')
      await client.key('speed', number).set(14)
      await reads(ui.cell('speed', 'value'), '14')
    },
  )

  it.skipIf(!SERVICES.mosquitto.present)(
    'the console shows that its store is a standby, and follows the failover',
    async () => {
      const broker = await brokerForPages()
      const data = temporaryFolder()
      const first = await openAttached(broker.url, { data })
      const second = await attach(broker.url, { data, reconnect: { initial: 20, max: 200 } })
      onTestFinished(async () => second.close())
      await untilState(second, 'standby')
      const server = await serveConsoleOf(second, { brokerUrl: broker.wsUrl })
      const client = openClient(broker.url)
      await client.key('a', number).set(1)
      const { page } = await open(server.link, { allow: [NO_SOCKET] })
      const ui = new ConsolePage(page)
      await reads(ui.health, 'live')
      await reads(ui.cell('a', 'value'), '1')
      await reads(page.getByRole('contentinfo'), 'another store is active')
      // New keys of the active store take some time to appear.
      await client.key('b', number).set(2)
      await reads(ui.cell('b', 'value'), '2')
      // Only the active store knows the expiry, which an edit must not discard silently.
      await ui.open('b')
      await reads(ui.detail.locator('.fact').filter({ hasText: 'Expires' }), /–/)
      await ui.press('Edit')
      await reads(ui.dialog.getByRole('alert'), 'Another store is active')
      await expectAccessible(page)
      await takePictures(page, 'console-standby-edit')
      await ui.decide('Cancel')
      await ui.goTo('Clients')
      await reads(page.getByRole('main'), 'Known to the active store only.')
      await expectAccessible(page)
      await ui.goTo('Store')
      await reads(page.getByRole('region', { name: 'Broker' }), /Standby/)
      expect(await page.getByRole('button', { name: 'Dump' }).isDisabled()).toBe(true)
      await expectAccessible(page)
      await takePictures(page, 'console-standby', { whole: true })
      await first.close()
      await reads(page.getByRole('region', { name: 'Broker' }), /Active/)
      await reads(ui.health, 'live')
      await page.getByRole('button', { name: 'Dump' }).and(page.locator(':enabled')).waitFor()
      await ui.goTo('Keys')
      await client.key('a', number).set(3)
      await reads(ui.cell('a', 'value'), '3')
    },
  )
})
