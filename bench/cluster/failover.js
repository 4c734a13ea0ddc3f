import { connect, text } from 'rx-statestore'
import { filter, firstValueFrom } from 'rxjs'
import { median, ms, progress } from '../report.js'

/** A write that is not answered is given up after this and sent again, ms. */
const TIMEOUT = 500

/**
 * How long a client that writes all the time gets no answer when something is killed: from then until the answer to a
 * write that was begun after.
 *
 * @param {import('./nats-servers.js').NatsServers} nats
 * @param {readonly import('./nodes.js').Node[]} nodes
 * @param {import('../rounds.js').Effort} effort
 * @returns {Promise<import('../report.js').Table>}
 */
export async function measureFailover(nats, nodes, effort) {
  const urls = nodes.map(({ url }) => url)
  const store = connect(urls, { clientId: 'bench-failover', sessionExpiry: 0 })
  const writes = writeAlways(store.key('failover', text))
  /** @type {[string, () => Promise<() => Promise<void>>][]} */
  const disasters = [
    [
      'its node',
      async () => {
        const status = await firstValueFrom(store.status$.pipe(filter(({ state }) => state === 'connected')))
        const node = nodes.find(({ url }) => 'url' in status && sameAddress(status.url, url))
        if (node === undefined) throw new Error('the client is at none of the nodes')
        await node.child().kill()
        return node.run
      },
    ],
    [
      "the stream's leader",
      async () => {
        const leader = await leaderOf(nodes)
        await nats.kill(leader)
        return () => nats.run(leader)
      },
    ],
  ]
  /** @type {import('../report.js').Table} */
  const table = { title: 'Killed: until its clients write again', rows: [] }
  // NATS takes 4 to 9 s until it finds another leader.
  for (const [killed, disaster] of effort.quick ? disasters.slice(0, 1) : disasters) {
    /** @type {number[]} */
    const took = []
    for (let round = 0; round < effort.rounds; round++) {
      progress(`killing ${killed}: round ${round + 1} of ${effort.rounds}`)
      const { begun, repair } = await strike(disaster)
      took.push((await writes.answeredAfter(begun)) - begun)
      await repair()
      await writes.answeredAfter(performance.now())
    }
    table.rows.push({ killed, times: took.length, median: ms(median(took)), longest: ms(Math.max(...took)) })
  }
  await writes.stop()
  await store.close()
  return table
}

/** @param {() => Promise<() => Promise<void>>} disaster */
async function strike(disaster) {
  const repair = await disaster()
  return { begun: performance.now(), repair }
}

/** @param {string | undefined} one @param {string} other */
const sameAddress = (one, other) => one !== undefined && new URL(one).host === new URL(other).host

/** Number of the NATS server that leads. @param {readonly import('./nodes.js').Node[]} nodes */
async function leaderOf(nodes) {
  for (;;) {
    const { leader } = Object(await nodes[0]?.child().ask({}))
    if (typeof leader === 'string') return Number(leader.slice(1))
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

/**
 * Writes one after the other until it is stopped.
 *
 * @param {import('rx-statestore').Key<string>} key
 */
function writeAlways(key) {
  let stopped = false
  /** @type {Set<{ begun: number, resolve: (at: number) => void }>} */
  const waiting = new Set()
  const loop = async () => {
    while (!stopped) {
      const sent = performance.now()
      const answered = await key.set('v', { timeout: TIMEOUT }).then(
        () => true,
        () => false,
      )
      if (!answered) continue
      for (const each of waiting) {
        if (sent < each.begun) continue
        waiting.delete(each)
        each.resolve(performance.now())
      }
    }
  }
  const ended = loop()
  /** @param {number} begun @returns {Promise<number>} when the first write that was begun after was answered */
  const answeredAfter = begun => new Promise(resolve => waiting.add({ begun, resolve }))
  const stop = async () => {
    stopped = true
    await ended
  }
  return { answeredAfter, stop }
}
