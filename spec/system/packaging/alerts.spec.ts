import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { METRICS } from '../../../src/server/metrics/definitions.js'
import { ROOT } from '../../support/compile-package.js'
import { PROGRAM_TIMEOUT_MS } from './support/program-timeout.js'

const FOLDER = join(ROOT, 'deploy/prometheus')
const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const { groups }: { groups: { rules: { alert: string; expr: string; annotations: { runbook_url: string } }[] }[] } =
  parse(textOf('deploy/prometheus/rules.yaml'))
const rules = groups.flatMap(group => group.rules)
const { tests }: { tests: { name: string }[] } = parse(textOf('deploy/prometheus/rules.test.yaml'))

describe('The alert rules', { timeout: PROGRAM_TIMEOUT_MS }, () => {
  it('each fault raises exactly its alert, and each alert has such a test', () => {
    const { status, stdout, stderr, error } = spawnSync('promtool', ['test', 'rules', 'rules.test.yaml'], {
      cwd: FOLDER,
      encoding: 'utf8',
    })
    expect({ status, error, output: stdout + stderr }).toMatchObject({ status: 0, error: undefined })
    expect(tests.map(({ name }) => name)).toEqual(rules.map(({ alert }) => alert))
  })

  it('each alert has a runbook, and its metrics are in the list', () => {
    const runbooks = textOf('docs/runbooks.md')
    for (const { alert, expr, annotations } of rules) {
      expect(runbooks).toContain(`\n## ${alert}\n`)
      expect(annotations.runbook_url).toMatch(new RegExp(`/docs/runbooks\\.md#${alert.toLowerCase()}$`))
      const names = expr.match(/\b(rx_statestore|aio_broker|nodejs|process)_\w+/g) ?? []
      const unknown = names.map(name => name.replace(/_(bucket|sum|count)$/, '')).filter(name => !(name in METRICS))
      expect(unknown).toEqual([])
    }
  })
})
