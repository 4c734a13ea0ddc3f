import { firstValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import { text } from '../../../src/client/index.js'
import { openClient } from '../../support/open-client.js'
import { AnsweringProgram } from '../../support/running-program.js'

const STORE = new URL('../../../bench/store-process.js', import.meta.url).pathname

it('A loop that is blocked for longer than the timeout still receives responses that have arrived', async () => {
  // The store responds while this process is blocked.
  const { ready: url } = await AnsweringProgram.launch(STORE)
  const store = openClient(String(url), { timeout: 300 })
  await store.key('first', text).set('there', { timeout: 10_000 })
  const writes = ['a', 'b', 'c'].map(name => store.key(name, text).set('value'))
  const results = Promise.all(writes.map(write$ => firstValueFrom(write$)))
  // The requests leave at the end of this turn.
  await new Promise(resolve => setImmediate(resolve))
  const end = performance.now() + 700
  while (performance.now() < end);
  expect((await results).map(({ applied }) => applied)).toEqual([true, true, true])
})
