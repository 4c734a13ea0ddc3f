import { connect, text } from 'rx-statestore'
import { filter, firstValueFrom } from 'rxjs'
import { median, ms, progress } from '../support/report.js'

/** Time after which an unanswered write is retried. */
const TIMEOUT_MS = 500

/**
 * Kills a process under continuous writes. Measures the time from the kill to the first response to a write that was
 * sent after the kill.
 *
 * @param {import('./nats-servers.js').NatsServers} nats
 * @param {readonly import('./nodes.js').Node[]} nodes
 * @param {import('../support/rounds.js').Effort} effort
 * @returns {Promise<import('../support/report.js').Table>}
 */
export async function measureFailover(nats, nodes, effort) {
  const urls = nodes.map(({ url }) => url)
  const store = connect(urls, { clientId: 'bench-failover', sessionExpiry: 0 })
  const writes = writeContinuously(store.key('failover', text))
  /** @type {[string, () => Promise<() => Promise<void>>][]} */
  const failures = [
    [
      'node of the client',
      async () => {
        const status = await firstValueFrom(store.status$.pipe(filter(({ state }) => state === 'connected')))
        const node = nodes.find(({ url }) => 'url' in status && sameAddress(status.url, url))
        if (node === undefined) throw new Error('The client is connected to none of the nodes')
        await node.child().kill()
        return node.run
      },
    ],
    [
      'stream leader',
      async () => {
        const leader = await leaderOf(nodes)
        await nats.kill(leader)
        return () => nats.run(leader)
      },
    ],
  ]
  /** @type {import('../support/report.js').Table} */
  const table = { title: 'Failover, time until clients write again', rows: [] }
  // A quick run skips failures of NATS, which takes 4 to 9 s to elect another leader.
  for (const [killed, kill] of effort.quick ? failures.slice(0, 1) : failures) {
    /** @type {number[]} */
    const took = []
    for (let round = 0; round < effort.rounds; round++) {
      progress(`killing ${killed}: round ${round + 1} of ${effort.rounds}`)
      const restart = await kill()
      const killedAt = performance.now()
      took.push((await writes.respondedAfter(killedAt)) - killedAt)
      await restart()
      await writes.respondedAfter(performance.now())
    }
    table.rows.push({ killed, times: took.length, median: ms(median(took)), longest: ms(Math.max(...took)) })
  }
  await writes.stop()
  await store.close()
  return table
}

/** @param {string | undefined} a @param {string} b */
const sameAddress = (a, b) => a !== undefined && new URL(a).host === new URL(b).host

/** Returns the index of the NATS server that leads the stream. @param {readonly import('./nodes.js').Node[]} nodes */
async function leaderOf(nodes) {
  for (;;) {
    const { leader } = Object(await nodes[0]?.child().ask({}))
    if (typeof leader === 'string') return Number(leader.slice(1))
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

/**
 * Writes sequentially until the returned `stop` is called.
 *
 * @param {import('rx-statestore').Key<string>} key
 */
function writeContinuously(key) {
  let isStopped = false
  /** @type {Set<{ since: number, resolve: (at: number) => void }>} */
  const waiting = new Set()
  const loop = async () => {
    while (!isStopped) {
      const sentAt = performance.now()
      const isAcknowledged = await key.set('v', { timeout: TIMEOUT_MS }).then(
        () => true,
        () => false,
      )
      if (!isAcknowledged) continue
      for (const waiter of waiting) {
        if (sentAt < waiter.since) continue
        waiting.delete(waiter)
        waiter.resolve(performance.now())
      }
    }
  }
  const ended = loop()
  /** @param {number} since @returns {Promise<number>} the time of the first response to a write sent after `since` */
  const respondedAfter = since => new Promise(resolve => waiting.add({ since, resolve }))
  const stop = async () => {
    isStopped = true
    await ended
  }
  return { respondedAfter, stop }
}
