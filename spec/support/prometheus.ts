import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import { freePorts } from '../../harness/free-port.js'
import { RunningProgram } from './running-program.js'
import { temporaryFolder } from './temporary-folder.js'

/** How to wait for Prometheus, ms. */
const WAITING = { interval: 50, timeout: 30_000 }
/** The number of instances that one Prometheus can monitor. */
const MAX_INSTANCES = 12

interface Running {
  readonly program: RunningProgram
  readonly folder: string
  /** Redirects each instance to its store, and answers for the others without metrics. */
  readonly targets: Server
  /** The addresses of `/metrics`, by path. */
  readonly stores: Map<string, string>
  /** The address of the API. */
  readonly api: string
}

/**
 * A Prometheus in a separate process, which scrapes stores and evaluates rules four times a second. Prometheus starts to
 * scrape a new target only after five seconds or more, so all instances are targets from its start, and a store becomes
 * one of them later.
 */
export class Prometheus {
  readonly #running: Running
  #instances = 0

  private constructor(running: Running) {
    this.#running = running
  }

  /**
   * Starts Prometheus. Resolves when Prometheus scrapes all instances.
   *
   * @param rules - the text of the rule file, which has one group
   */
  static async start(rules: string): Promise<Prometheus> {
    const folder = temporaryFolder()
    const [targetPort = 0, apiPort = 0] = await freePorts(2)
    const stores = new Map<string, string>()
    const targets = createServer(({ url = '' }, response) => {
      const location = stores.get(url)
      if (location === undefined) response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end()
      else response.writeHead(307, { location }).end()
    })
    targets.listen(targetPort, '127.0.0.1')
    await once(targets, 'listening')
    const scraped = Array.from({ length: MAX_INSTANCES }, (_, at) => ({
      targets: [`127.0.0.1:${targetPort}`],
      labels: { instance: nameOf(at), __metrics_path__: pathOf(nameOf(at)) },
    }))
    // The job is `rx-statestore`, as in the documentation. JSON is YAML.
    const config = {
      global: { scrape_interval: '250ms', scrape_timeout: '250ms', evaluation_interval: '250ms' },
      rule_files: ['rules.yaml'],
      scrape_configs: [{ job_name: 'rx-statestore', static_configs: scraped }],
    }
    await writeFile(join(folder, 'rules.yaml'), rules)
    await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config))
    const address = `127.0.0.1:${apiPort}`
    const flags = [
      '--config.file=prometheus.yml',
      '--storage.tsdb.path=data',
      `--web.listen-address=${address}`,
      '--scrape.discovery-reload-interval=100ms',
    ]
    const program = new RunningProgram('prometheus', flags, { cwd: folder })
    await program.line(/Server is ready/)
    const prometheus = new Prometheus({ program, folder, targets, stores, api: `http://${address}/api/v1/` })
    await prometheus.until(`count(up == 1) == ${MAX_INSTANCES}`)
    return prometheus
  }

  /**
   * Monitors a store until the end of the test. Resolves when the rules were evaluated after the second scrape of the
   * store, because an increase before that is not noticed.
   *
   * @param url - the address of its metrics server
   */
  async monitor(url: string): Promise<MonitoredStore> {
    const name = nameOf(this.#instances++)
    if (this.#instances > MAX_INSTANCES) throw new Error(`all ${MAX_INSTANCES} instances are in use: raise the limit`)
    this.#running.stores.set(pathOf(name), new URL('metrics', url).href)
    onTestFinished(() => void this.#running.stores.delete(pathOf(name)))
    await this.until(`count_over_time(rx_statestore_ready{instance="${name}"}[1m]) > 1`)
    await this.evaluated()
    return new MonitoredStore(this, name)
  }

  /** Resolves when an expression has a result. */
  async until(expression: string): Promise<void> {
    await vi.waitFor(async () => {
      if (!(await this.hasResult(expression))) throw new Error(`Prometheus has no result of ${expression}`)
    }, WAITING)
  }

  /** Resolves after the rules were evaluated once more. */
  async evaluated(): Promise<void> {
    const seen = await this.#lastEvaluation()
    await vi.waitFor(async () => {
      if ((await this.#lastEvaluation()) === seen) throw new Error('Prometheus does not evaluate its rules')
    }, WAITING)
  }

  /** Returns the names of all alerts of an instance with their states, such as `StateStoreDown pending`. */
  async alertsOf(instance: string): Promise<readonly string[]> {
    const { alerts }: { alerts: { labels: { alertname: string; instance: string }; state: string }[] } =
      await this.#ask('alerts')
    const own = alerts.filter(({ labels }) => labels.instance === instance)
    return own.map(({ labels, state }) => `${labels.alertname} ${state}`)
  }

  /** Returns whether an expression has a result. */
  async hasResult(expression: string): Promise<boolean> {
    const { result }: { result: unknown[] } = await this.#ask(`query?query=${encodeURIComponent(expression)}`)
    return result.length > 0
  }

  async stop(): Promise<void> {
    const { program, targets, folder } = this.#running
    await program.end()
    targets.closeAllConnections()
    targets.close()
    await rm(folder, { recursive: true })
  }

  async #lastEvaluation(): Promise<string> {
    const { groups }: { groups: { lastEvaluation: string }[] } = await this.#ask('rules')
    return groups[0]?.lastEvaluation ?? ''
  }

  async #ask(path: string) {
    const response = await fetch(this.#running.api + path)
    if (!response.ok) throw new Error(`Prometheus answered ${path} with status ${response.status}`)
    return JSON.parse(await response.text()).data
  }
}

/** A store that a {@link Prometheus} scrapes. */
export class MonitoredStore {
  readonly #prometheus: Prometheus
  readonly #instance: string

  constructor(prometheus: Prometheus, instance: string) {
    this.#prometheus = prometheus
    this.#instance = instance
  }

  /** Returns the names of all alerts of the store with their states, such as `StateStoreDown pending`. */
  async alerts(): Promise<readonly string[]> {
    return this.#prometheus.alertsOf(this.#instance)
  }

  /** Resolves after the rules were evaluated once more. */
  async evaluated(): Promise<void> {
    await this.#prometheus.evaluated()
  }

  /** Returns whether an alert of the store was firing at any time in the last five minutes. */
  async hasAlerted(): Promise<boolean> {
    return this.#prometheus.hasResult(`max_over_time(ALERTS{alertstate="firing", instance="${this.#instance}"}[5m])`)
  }
}

const nameOf = (at: number): string => `store-${at}`
const pathOf = (instance: string): string => `/${instance}/metrics`
