import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import { freePort } from './free-port.js'
import { RunningProgram } from './running-program.js'
import { temporaryFolder } from './temporary-folder.js'

export interface PrometheusOptions {
  /** The address of `/metrics`. The job is `rx-statestore`, as in the documentation. */
  readonly url: string
  /** The text of the rule file, which has one group. */
  readonly rules: string
}

/** How to wait for Prometheus, ms. */
const WAITING = { interval: 50, timeout: 10_000 }

/** A Prometheus in a separate process, which scrapes a store and evaluates rules twice a second. */
export class Prometheus {
  readonly #url: string

  private constructor(url: string) {
    this.#url = url
  }

  /**
   * Starts Prometheus until the end of the test. Resolves when the rules were evaluated after the second scrape, because
   * an increase before that is not noticed.
   */
  static async start({ url, rules }: PrometheusOptions): Promise<Prometheus> {
    const folder = temporaryFolder()
    await writeFile(join(folder, 'rules.yaml'), rules)
    const target = `{ job_name: rx-statestore, static_configs: [{ targets: ['${new URL(url).host}'] }] }`
    const config = [
      'global: { scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms }',
      'rule_files: [rules.yaml]',
      `scrape_configs: [${target}]`,
    ]
    await writeFile(join(folder, 'prometheus.yml'), config.join('\n'))
    const address = `127.0.0.1:${await freePort()}`
    const flags = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=${address}`]
    const program = new RunningProgram('prometheus', flags, { cwd: folder })
    onTestFinished(async () => {
      await program.end()
      await rm(folder, { recursive: true })
    })
    await program.line(/Server is ready/)
    const prometheus = new Prometheus(`http://${address}/api/v1/`)
    await vi.waitFor(async () => {
      if (!(await prometheus.hasResult('count_over_time(up[1m]) > 1'))) throw new Error('Prometheus does not scrape')
    }, WAITING)
    await prometheus.evaluated()
    return prometheus
  }

  /** Resolves after the rules were evaluated that many times more. */
  async evaluated(times = 1): Promise<void> {
    for (let seen = await this.#lastEvaluation(), left = times; left > 0; left--)
      seen = await vi.waitFor(async () => {
        const now = await this.#lastEvaluation()
        if (now === seen) throw new Error('Prometheus does not evaluate its rules')
        return now
      }, WAITING)
  }

  /** Returns the names of all alerts with their states, such as `StateStoreDown pending`. */
  async alerts(): Promise<readonly string[]> {
    const { alerts }: { alerts: { labels: { alertname: string }; state: string }[] } = await this.#ask('alerts')
    return alerts.map(({ labels, state }) => `${labels.alertname} ${state}`)
  }

  /** Returns whether an alert was firing at any time in the last five minutes. */
  async hasAlerted(): Promise<boolean> {
    return this.hasResult('max_over_time(ALERTS{alertstate="firing"}[5m])')
  }

  /** Returns whether an expression has a result. */
  async hasResult(expression: string): Promise<boolean> {
    const { result }: { result: unknown[] } = await this.#ask(`query?query=${encodeURIComponent(expression)}`)
    return result.length > 0
  }

  async #lastEvaluation(): Promise<string> {
    const { groups }: { groups: { lastEvaluation: string }[] } = await this.#ask('rules')
    return groups[0]?.lastEvaluation ?? ''
  }

  async #ask(path: string) {
    const response = await fetch(this.#url + path)
    if (!response.ok) throw new Error(`Prometheus answered ${path} with status ${response.status}`)
    return JSON.parse(await response.text()).data
  }
}
