import { execFileSync, spawnSync } from 'node:child_process'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect, text } from '../../../src/client/index.js'
import { serve } from '../../../src/server/index.js'
import { METRICS } from '../../../src/server/metrics/definitions.js'
import { openMetrics, scrape } from '../../server/metrics/exposition.js'
import { ROOT } from '../../support/compile-package.js'
import { PROGRAM_TIMEOUT_MS } from './support/program-timeout.js'

describe('The metrics', { timeout: PROGRAM_TIMEOUT_MS }, () => {
  it('the table in the documentation and the dashboard match the list of metrics', () => {
    expect(() => execFileSync(process.execPath, ['scripts/metrics.js', '--check'], { cwd: ROOT })).not.toThrow()
  })

  it('promtool accepts the metrics, except counters of Azure IoT Operations without suffix', async () => {
    const store = await serve({ port: 0, wsPort: 0 })
    onTestFinished(async () => store.close())
    const metrics = await openMetrics(store)
    const client = connect(store.url)
    await client.key('a', text).set('1')
    await client.close()
    const input = (await scrape(metrics)).text
    const { stderr, error } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' })
    expect(error).toBeUndefined()
    const exceptions = Object.entries(METRICS)
      .filter(([name, { type }]) => name.startsWith('aio_broker_') && type === 'counter')
      .map(([name]) => `${name} counter metrics should have "_total" suffix`)
    expect(stderr.trim().split('\n').sort()).toEqual(exceptions.sort())
  })
})
