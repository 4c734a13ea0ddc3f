// Shows a thermostat in the browser: starts a store, a room that follows its set point, and a page with a dial.

import { networkInterfaces } from 'node:os'
import { emitKeypressEvents } from 'node:readline'
import { parseArgs } from 'node:util'
import pc from 'picocolors'
import { startRoom } from './room.js'
import { openSite } from './site.js'
import { OwnStore } from './store.js'

const { values: options } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '8484' },
    // The two addresses of an external store. Without them, a store is started in this process.
    store: { type: 'string' },
    ws: { type: 'string' },
  },
})
if ((options.store === undefined) !== (options.ws === undefined)) {
  console.error('A store that runs elsewhere needs both of its addresses: --store mqtt://... and --ws ws://...')
  process.exit(2)
}
const store = options.store && options.ws ? undefined : await OwnStore.start()
const [url, wsUrl] = store ? [store.url, store.wsUrl] : [options.store ?? '', options.ws ?? '']
const site = await openSite({ host: options.host, port: Number(options.port), wsUrl }).catch(async error => {
  console.error(`The page cannot be served: ${error.message}`)
  await store?.close()
  process.exit(1)
})
const room = startRoom(url)

let stopping = false
async function stop() {
  if (stopping) return
  stopping = true
  process.stdin.pause()
  await room.stop()
  await site.close()
  await store?.close()
}

/** The action of each key, and the message to print. @type {Record<string, { what: string, act: () => unknown, said: () => string }>} */
const actions = {
  c: {
    what: 'disconnect the pages; again to reconnect them',
    act: () => (site.cable.isCut ? site.cable.restore() : site.cable.cut()),
    said: () =>
      site.cable.isCut ? 'The pages are disconnected, and show stale values as such.' : 'The pages can reconnect.',
  },
  s: {
    what: 'slow their connection down; then turn the dial, or disconnect and reconnect them',
    act: () => {
      site.cable.slow = !site.cable.slow
    },
    said: () => (site.cable.slow ? 'The pages get only 2 kB/s.' : 'The connection is fast.'),
  },
  ...(store && {
    r: {
      what: 'restart the store, which loses its keys',
      act: () => store.restart(),
      said: () => 'The store has restarted. The room has restored the set point.',
    },
  }),
  q: { what: 'quit', act: stop, said: () => '' },
}

console.log(`\n  ${pc.bold('Thermostat')}`)
for (const host of hostsOf(options.host)) console.log(`  ${pc.cyan(`http://${host}:${site.port}/`)}`)
console.log('\n  Open it twice and turn the dial. --host 0.0.0.0 makes it available to phones.\n')
process.once('SIGINT', stop).once('SIGTERM', stop)
if (process.stdin.isTTY) listen(process.stdin)

/** @param {import('node:tty').ReadStream} keyboard */
function listen(keyboard) {
  for (const [key, { what }] of Object.entries(actions)) console.log(`  ${pc.bold(key)}  ${what}`)
  console.log()
  emitKeypressEvents(keyboard)
  keyboard.setRawMode(true)
  // Key presses are handled one at a time, because restarts must not overlap.
  let last = Promise.resolve()
  keyboard.on('keypress', (_text, { name = '', ctrl }) => {
    const action = ctrl && name === 'c' ? actions['q'] : actions[name]
    if (action) last = last.then(action.act).then(() => console.log(`  ${pc.dim(action.said())}`))
  })
}

/** Returns the names by which other machines reach an address that this machine listens on. @param {string} host */
function hostsOf(host) {
  if (host !== '0.0.0.0') return [host]
  const addresses = Object.values(networkInterfaces()).flatMap(list => list ?? [])
  return addresses.filter(({ family }) => family === 'IPv4').map(({ address }) => address)
}
