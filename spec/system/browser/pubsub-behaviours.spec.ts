import { createServer } from 'node:http'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, inject, vi } from 'vitest'
import { SEED } from '../../support/effort.js'
import { socketsOf } from './support/page-socket.js'

/** The time that a busy machine may take to open a page, in ms. */
const PATIENCE = 120_000

// These specs of socket-dependent behaviour run with the WebSocket of Chromium. Each has a separate page, since
// Chromium delays connections of a page whose sockets have failed, longer with each failure.
vi.setConfig({ testTimeout: PATIENCE })
const site = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html>'))
let browser: Browser | undefined
let opened = 0

beforeAll(async () => {
  browser = await chromium.connect(inject('browser'))
  await new Promise<void>(resolve => site.listen(0, '127.0.0.1', resolve))
}, PATIENCE)

beforeEach(async () => {
  const address = site.address()
  if (browser === undefined || address === null || typeof address === 'string') throw new Error('There is no site')
  // A page stays open until the next test, because clients close after the hooks of their test.
  for (const context of browser.contexts()) await context.close()
  const page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${address.port}`)
  vi.stubGlobal('WebSocket', await socketsOf(page, () => opened++))
  // The client detects Node by the missing `navigator`.
  vi.stubGlobal('navigator', undefined)
}, PATIENCE)

afterAll(async () => {
  vi.unstubAllGlobals()
  await browser?.close()
  site.closeAllConnections()
  site.close()
  expect(opened).toBeGreaterThan(0)
})

// A socket's payloads are only text or bytes, so each run tests one of the two, chosen by its seed.
const protocol = SEED % 2 === 0 ? 'json' : 'protobuf'
vi.doMock(import('../../pubsub/support/scripted-hub.js'), async original => {
  const hub = await original()
  return { ...hub, PROTOCOLS: hub.PROTOCOLS.filter(name => name === protocol) }
})
await import('../../pubsub/behaviours/endings.spec.js')
await import('../../pubsub/behaviours/recovery.spec.js')
await import('../../pubsub/behaviours/sessions.spec.js')
