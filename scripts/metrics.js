// Writes what is made from the list of metrics: the table in docs/observability.md, and the dashboard for Grafana.
// `node scripts/metrics.js --check` only compares, and exits with code 1 if a file differs.
import { readFileSync, writeFileSync } from 'node:fs'
import { rolldown } from 'rolldown'

/**
 * @typedef {{ readonly type: 'counter' | 'gauge' | 'histogram', readonly help: string, readonly unit: 'bytes' | 'seconds' | 'items', readonly labels: readonly string[], readonly source: string, readonly row: string }} Metric
 */

const ROOT = new URL('..', import.meta.url)
const DOCUMENT = new URL('docs/observability.md', ROOT)
const DASHBOARD = new URL('deploy/grafana/dashboard.json', ROOT)
const [BEGIN, END] = ['<!-- metrics: begin -->', '<!-- metrics: end -->']

const metrics = await definitions()
const document = readFileSync(DOCUMENT, 'utf8')
const [before = '', after = ''] = [document.split(BEGIN)[0], document.split(END)[1]]
const files = [
  { url: DOCUMENT, text: `${before}${BEGIN}\n${table()}\n${END}${after}` },
  { url: DASHBOARD, text: `${JSON.stringify(dashboard(), null, 2)}\n` },
]
for (const { url, text } of files) {
  if (process.argv[2] !== '--check') writeFileSync(url, text)
  else if (readFileSync(url, 'utf8') !== text) {
    console.error(`${url.pathname} differs from the list of metrics: run node scripts/metrics.js`)
    process.exitCode = 1
  }
}

/** @returns {Promise<[name: string, metric: Metric][]>} */
async function definitions() {
  const build = await rolldown({ input: new URL('src/server/metrics/definitions.ts', ROOT).pathname })
  const { output } = await build.generate({ format: 'esm' })
  await build.close()
  const { METRICS } = await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`)
  return Object.entries(METRICS)
}

function table() {
  const rows = metrics.map(([name, { type, help, labels, source }]) => {
    const names = labels.map(label => `\`${label}\``).join(', ')
    return `| \`${name}\` | ${type} | ${names} | ${help} | \`${source}\` |`
  })
  return ['| Metric | Type | Labels | Meaning | Source |', '| --- | --- | --- | --- | --- |', ...rows].join('\n')
}

function dashboard() {
  const rows = [...new Set(metrics.map(([, { row }]) => row))]
  let y = 0
  const panels = rows.flatMap((row, index) => {
    const own = metrics.filter(([, metric]) => metric.row === row)
    const header = { type: 'row', title: row, id: 1_000 + index, collapsed: false, panels: [] }
    const from = y + 1
    const all = [
      { ...header, gridPos: { x: 0, y, w: 24, h: 1 } },
      ...own.map(([name, metric], i) => panel(name, metric, { x: 8 * (i % 3), y: from + 7 * Math.floor(i / 3) })),
    ]
    y = from + 7 * Math.ceil(own.length / 3)
    return all
  })
  return {
    title: 'rx-statestore',
    uid: 'rx-statestore',
    schemaVersion: 39,
    tags: ['mqtt', 'state-store'],
    time: { from: 'now-1h', to: 'now' },
    refresh: '30s',
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus' },
        {
          name: 'instance',
          type: 'query',
          datasource: { type: 'prometheus', uid: '$datasource' },
          query: 'label_values(rx_statestore_ready, instance)',
          refresh: 2,
          includeAll: true,
          multi: true,
        },
      ],
    },
    panels,
  }
}

/** @param {string} name @param {Metric} metric @param {{ x: number, y: number }} position */
function panel(name, metric, { x, y }) {
  const { type, help, unit } = metric
  const perSecond = type === 'counter' && unit !== 'seconds'
  const units = { bytes: perSecond ? 'Bps' : 'bytes', seconds: 's', items: perSecond ? 'cps' : 'short' }
  const id = 1 + metrics.findIndex(([each]) => each === name)
  return {
    id,
    type: 'timeseries',
    title: name,
    description: help,
    datasource: { type: 'prometheus', uid: '$datasource' },
    gridPos: { x, y, w: 8, h: 7 },
    fieldConfig: { defaults: { unit: units[unit], min: 0 }, overrides: [] },
    targets: queries(name, metric).map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      expr,
      legendFormat: legend,
    })),
  }
}

/** @param {string} name @param {Metric} metric */
function queries(name, { type, labels }) {
  const by = ['instance', ...labels].join(', ')
  const legend = ['instance', ...labels].map(label => `{{${label}}}`).join(' ')
  const selector = '{instance=~"$instance"}'
  const rate = (/** @type {string} */ suffix) => `rate(${name}${suffix}${selector}[$__rate_interval])`
  if (type === 'counter') return [{ expr: `sum by (${by}) (${rate('')})`, legend }]
  if (type === 'gauge') return [{ expr: `${name}${selector}`, legend }]
  return [0.5, 0.99].map(quantile => ({
    expr: `histogram_quantile(${quantile}, sum by (${by}, le) (${rate('_bucket')}))`,
    legend: `${legend} p${100 * quantile}`,
  }))
}
