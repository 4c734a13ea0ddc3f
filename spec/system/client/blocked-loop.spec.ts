import { fork } from 'node:child_process'
import { once } from 'node:events'
import { firstValueFrom } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import { text } from '../../../src/client/index.js'
import { openClient } from '../../support/open-client.js'

/** Starts a store in another process, which responds while this process is blocked. */
async function storeElsewhere(): Promise<string> {
  const child = fork(new URL('../../../bench/store-process.js', import.meta.url), { stdio: 'inherit' })
  onTestFinished(() => void child.kill())
  const [url]: unknown[] = await once(child, 'message')
  return String(url)
}

it('A loop that is blocked for longer than the timeout still receives responses that have arrived', async () => {
  const store = openClient(await storeElsewhere(), { timeout: 300 })
  await store.key('first', text).set('there')
  const writes = ['a', 'b', 'c'].map(name => store.key(name, text).set('value'))
  const results = Promise.all(writes.map(write$ => firstValueFrom(write$)))
  // The requests leave at the end of this turn.
  await new Promise(resolve => setImmediate(resolve))
  const end = performance.now() + 700
  while (performance.now() < end);
  expect((await results).map(({ applied }) => applied)).toEqual([true, true, true])
})
