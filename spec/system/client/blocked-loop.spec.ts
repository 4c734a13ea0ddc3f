import { spawnSync } from 'node:child_process'
import { firstValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import { text } from '../../../src/client/index.js'
import { openClient } from '../../support/open-client.js'
import { AnsweringProgram } from '../../support/running-program.js'

const STORE = new URL('../../../bench/store-process.js', import.meta.url).pathname
const CLI = new URL('../../../dist/cli/main.js', import.meta.url).pathname
const TIMEOUT_MS = 300

it('A loop blocked longer than the timeout still receives responses that have arrived', async () => {
  // The store responds while this process is blocked.
  const { ready: url } = await AnsweringProgram.launch(STORE)
  const store = openClient(String(url), { timeout: TIMEOUT_MS })
  await store.key('first', text).set('there', { timeout: 10_000 })
  const writes = ['a', 'b', 'c'].map(name => store.key(name, text).set('value'))
  const results = Promise.all(writes.map(write$ => firstValueFrom(write$)))
  // The requests leave at the end of this turn.
  await new Promise(resolve => setImmediate(resolve))
  const end = performance.now() + 2 * TIMEOUT_MS
  while (performance.now() < end);
  // The store has responded to the writes when another process can read the last one.
  while (spawnSync(process.execPath, [CLI, 'get', 'c', '--url', String(url)]).status !== 0);
  expect((await results).map(({ applied }) => applied)).toEqual([true, true, true])
})
