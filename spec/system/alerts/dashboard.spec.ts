import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { text } from '../../../src/client/index.js'
import { serve } from '../../../src/server/index.js'
import { openMetrics } from '../../server/metrics/exposition.js'
import { ROOT } from '../../support/compile-package.js'
import { openClient } from '../../support/open-client.js'
import { Prometheus } from '../../support/prometheus.js'

interface Panel {
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
}

const { panels }: { panels: readonly Panel[] } = JSON.parse(
  readFileSync(join(ROOT, 'deploy/grafana/dashboard.json'), 'utf8'),
)

it('all dashboard panels have data, except those of a cluster, logins and TLS', {
  tags: 'slow',
  timeout: 60_000,
}, async () => {
  const data = mkdtempSync(join(tmpdir(), 'data-'))
  onTestFinished(() => rmSync(data, { recursive: true }))
  const store = await serve({ port: 0, wsPort: 0, data })
  onTestFinished(async () => store.close())
  const prometheus = await Prometheus.start('groups: [{ name: none }]')
  onTestFinished(async () => prometheus.stop())
  await prometheus.monitor((await openMetrics(store)).url)
  await openClient(store.url).key('k', text).set('1')
  const emptyPanels = async (): Promise<readonly string[]> => {
    const empty: string[] = []
    for (const { title, targets = [] } of panels)
      for (const { expr } of targets) {
        const query = expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m')
        if (!(await prometheus.hasResult(query))) empty.push(title)
      }
    return empty
  }
  // A rate needs two scrapes after the first request.
  await expect
    .poll(emptyPanels)
    .toEqual([
      'rx_statestore_log_lag_entries',
      'rx_statestore_cluster_nodes',
      'rx_statestore_principal_used',
      'rx_statestore_tls_not_after_seconds',
    ])
})
