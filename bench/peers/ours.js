import { connect, set, text } from 'rx-statestore'
import { firstValueFrom, mergeMap } from 'rxjs'
import { startStore } from '../support/child.js'
import { closedLoop, runConcurrently } from '../support/closed-loop.js'
import { KEY, VALUE, WATCHED } from './peer.js'

/**
 * @param {string} [name]
 * @param {string} [data] - directory for the keys of a durable store
 * @returns {Promise<import('./peer.js').Peer>}
 */
export async function startOurs(name = 'rx-statestore', data = undefined) {
  const server = await startStore(undefined, data)
  const peer = await openOurs([server.url], name, text, VALUE)
  return { ...peer, close: () => peer.close().then(server.close) }
}

/**
 * Opens clients of running stores: one-shot requests for one in flight, operators for many. The first store gets the
 * requests; watching clients connect to the next ones in turn.
 *
 * @template T
 * @param {readonly string[]} urls
 * @param {string} name
 * @param {import('rx-statestore').Codec<T>} codec
 * @param {T} value
 * @returns {Promise<import('./peer.js').Peer>}
 */
export async function openOurs(urls, name, codec, value) {
  const open = (/** @type {string} */ clientId, /** @type {number} */ index) =>
    connect(urls[index % urls.length] ?? '', { clientId, sessionExpiry: 0 })
  const store = open('bench-ours', 0)
  const key = store.key(KEY, codec)
  const watched = store.key(WATCHED, text)
  await key.set(value)
  await watched.set(VALUE)
  let watchers = 0
  return {
    name,
    run: (verb, inFlight, count) => {
      if (inFlight === 1)
        return runConcurrently(1, count, () =>
          verb === 'SET' ? firstValueFrom(key.set(value)) : firstValueFrom(key.get()),
        )
      const options = { concurrency: inFlight }
      return closedLoop(
        inFlight,
        count,
        value,
        verb === 'SET' ? set(key, options) : mergeMap(() => key.get(), inFlight),
      )
    },
    change: value => firstValueFrom(watched.set(value)),
    watch: async onValue => {
      const client = open(`bench-watcher-${watchers}`, ++watchers)
      const { value$ } = client.key(WATCHED, text)
      value$.subscribe(value => onValue(value ?? ''))
      await firstValueFrom(value$)
      return () => client.close()
    },
    close: () => store.close(),
  }
}
