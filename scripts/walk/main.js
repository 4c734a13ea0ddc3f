// Lists the files and functions that one warm operation visits, in order: `npm run walk [--
// set|notification|broker|disk|hub]`. Fails if an operation visits more files than scripts/walk/budgets.json allows.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { register } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { styleText } from 'node:util'
import { filter, firstValueFrom } from 'rxjs'
import { within } from './deadline.js'

register('./hooks.js', import.meta.url)
// Imported after the hooks are registered.
const { connect, number } = await import('rx-statestore')
const { serve } = await import('rx-statestore/server')
const { servePubSub } = await import('rx-statestore/pubsub/server')

/**
 * Number of warm-up runs of an operation, and number of recorded runs. The recorded run with the fewest calls is shown.
 */
const WARM_UP = 200
const RUNS = 20
const ROLES = ['webpubsub.joinLeaveGroup', 'webpubsub.sendToGroup']

/** @typedef {{ readonly file: string, readonly name: string }} Call */
/** @type {Call[] | undefined} */
let calls
Object.assign(globalThis, {
  walked: (/** @type {string} */ file, /** @type {string} */ name) => calls?.push({ file, name }),
})

/** @param {'store' | 'client' | 'members'} role @param {string} address */
async function startPeer(role, address = '') {
  const peer = fork(new URL('./peer.js', import.meta.url).pathname, [role, address])
  /** @param {string} what */
  const answer = async what => {
    const listening = new AbortController()
    const { signal } = listening
    const ended = once(peer, 'exit', { signal }).then(([code]) => {
      throw new Error(`the peer ${role} ended with ${code} before it was ${what}`)
    })
    try {
      const [message] = await within(
        Promise.race([once(peer, 'message', { signal }), ended]),
        `the peer ${role} to be ${what}`,
      )
      return message
    } finally {
      ended.catch(() => undefined)
      listening.abort()
    }
  }
  const { ready } = await answer('ready')
  const go = async () => {
    const done = answer('done')
    peer.send('go')
    await done
  }
  return { peer, ready, go }
}

/** Each function returns the operation and the functions that end it, in order. */
const OPERATIONS = {
  set: async () => {
    const { peer, ready } = await startPeer('store')
    const store = connect(ready)
    const key = store.key('walk', number)
    let value = 0
    return { go: async () => void (await key.set(++value)), ends: [() => store.close(), () => peer.kill()] }
  },
  notification: async () => {
    const { peer, ready, go } = await startPeer('store')
    const store = connect(ready)
    const { value$, freshness$ } = store.key('walk', number)
    let count = 0
    let heard = () => {}
    value$.pipe(filter(value => value === count)).subscribe(() => heard())
    await within(firstValueFrom(freshness$.pipe(filter(({ state }) => state === 'live'))), 'the watch to be live')
    return {
      go: async () => {
        count++
        const notified = new Promise(resolve => {
          heard = () => resolve(undefined)
        })
        await go()
        await within(notified, `the notification of ${count}`)
        // Waits for calls that follow the notification.
        await pause(5)
      },
      ends: [() => store.close(), () => peer.kill()],
    }
  },
  broker: async () => walkServer({}),
  disk: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rx-statestore-walk-'))
    const { go, ends } = await walkServer({ data: join(folder, 'data') })
    return { go, ends: [...ends, () => rm(folder, { recursive: true })] }
  },
  hub: async () => {
    const server = await servePubSub({ port: 0, authenticate: { key: 'a key of at least 32 characters.' } })
    const hub = server.hub('walk')
    const urls = await Promise.all(['ann', 'bob'].map(async userId => (await hub.token({ userId, roles: ROLES })).url))
    const { peer, go } = await startPeer('members', urls.join(' '))
    return { go, ends: [() => peer.kill(), () => server.close()] }
  },
}

/** @param {import('rx-statestore/server').ServeOptions} options */
async function walkServer(options) {
  const store = await serve({ port: 0, wsPort: 0, ...options })
  const { peer, go } = await startPeer('client', store.url)
  return { go, ends: [() => peer.kill(), () => store.close()] }
}

/** Returns the calls of one warm run. @param {keyof typeof OPERATIONS} name */
async function walk(name) {
  const { go, ends } = await within(OPERATIONS[name](), `${name} to begin`)
  for (let n = 0; n < WARM_UP; n++) await within(go(), `run ${n} of ${name} to warm up`)
  /** @type {Call[]} */
  let fewest = []
  for (let n = 0; n < RUNS; n++) {
    await turn()
    calls = []
    await within(go(), `run ${n} of ${name}`)
    const run = calls
    calls = undefined
    if (n === 0 || run.length < fewest.length) fewest = run
  }
  for (const end of ends) await within(Promise.resolve(end()), `the end of ${name}`)
  return fewest
}

/** Merges consecutive calls in the same file into one visit. @param {readonly Call[]} run */
function visitsOf(run) {
  /** @type {{ file: string, names: string[] }[]} */
  const visits = []
  for (const { file, name } of run) {
    const last = visits.at(-1)
    if (last?.file !== file) visits.push({ file, names: [name] })
    else if (last.names.at(-1) !== name) last.names.push(name)
  }
  return visits
}

const budgets = JSON.parse(await readFile(new URL('./budgets.json', import.meta.url), 'utf8'))
const asked = process.argv.slice(2)
const names = /** @type {(keyof typeof OPERATIONS)[]} */ (Object.keys(OPERATIONS)).filter(
  name => asked.length === 0 || asked.includes(name),
)
let isOver = false
/** @type {string[][]} */
const rows = [['operation', 'files', 'budget', 'functions', 'visits']]
for (const name of names) {
  const run = await walk(name)
  const visits = visitsOf(run)
  const files = new Set(run.map(({ file }) => file))
  const functions = new Set(run.map(({ file, name }) => `${file} ${name}`))
  if (asked.length > 0)
    for (const { file, names } of visits) console.log(`${styleText('cyan', file)}  ${[...new Set(names)].join(', ')}`)
  if (files.size > budgets[name]) isOver = true
  rows.push([name, ...[files.size, budgets[name], functions.size, visits.length].map(String)])
}
const widths = rows[0]?.map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0))) ?? []
for (const row of rows)
  console.log(
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  )
if (isOver)
  console.error(
    'More files than the budget allows: raise it in scripts/walk/budgets.json with a reason, or straighten the way.',
  )
process.exit(isOver ? 1 : 0)
