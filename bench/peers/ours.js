import { connect, get, set, text } from 'rx-statestore'
import { firstValueFrom } from 'rxjs'
import { startStore } from '../child.js'
import { closedLoop, runConcurrently } from '../closed-loop.js'
import { KEY, VALUE, WATCHED } from './peer.js'

/**
 * @param {string} [name]
 * @param {string} [data] - directory for the keys of a durable store
 * @returns {Promise<import('./peer.js').Peer>}
 */
export async function startOurs(name = 'rx-statestore', data = undefined) {
  const server = await startStore(undefined, data)
  const store = connect(server.url, { clientId: 'bench-ours', sessionExpiry: 0 })
  const key = store.key(KEY, text)
  const watched = store.key(WATCHED, text)
  await firstValueFrom(key.set(VALUE))
  await firstValueFrom(watched.set(VALUE))
  let watchers = 0
  return {
    name,
    run: (verb, inFlight, count) => {
      if (inFlight === 1)
        return runConcurrently(1, count, () =>
          verb === 'SET' ? firstValueFrom(key.set(VALUE)) : firstValueFrom(key.get()),
        )
      const options = { concurrency: inFlight }
      return closedLoop(inFlight, count, VALUE, verb === 'SET' ? set(key, options) : get(key, options))
    },
    change: value => firstValueFrom(watched.set(value)),
    watch: async onValue => {
      const client = connect(server.url, { clientId: `bench-watcher-${watchers++}`, sessionExpiry: 0 })
      const { value$ } = client.key(WATCHED, text)
      value$.subscribe(value => onValue(value ?? ''))
      await firstValueFrom(value$)
      return () => client.close()
    },
    close: async () => {
      await store.close()
      await server.close()
    },
  }
}
