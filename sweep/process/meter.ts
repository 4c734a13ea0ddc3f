import { type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'

/** The work of a process between {@link Meter.begin} and {@link Meter.end}. */
export interface Measurement {
  /** The CPU time of all steps with work, in ms. */
  readonly cpuMs: number
  /** The longest iterations of the event loop without their garbage collections, in ms, longest first. */
  readonly longestStepsMs: readonly number[]
  /** The growth of the memory that is reachable after a garbage collection, in bytes. */
  readonly heldBytes: number
}

interface Step {
  readonly start: number
  readonly end: number
  readonly ms: number
}

/** Iterations below this length have no work. An iteration of an idle event loop takes a few microseconds. */
const MIN_STEP_MS = 0.02
/** Only longer steps are kept to subtract garbage collections from them. */
const MIN_KEPT_MS = 2
const MAX_KEPT_STEPS = 1_000
const MAX_REPORTED_STEPS = 10
/** The process is idle after this number of iterations without work. */
const IDLE_ITERATIONS = 20
const MAX_IDLE_WAIT_MS = 5_000

/**
 * Measures each iteration of the event loop, which is the time in which the process serves nobody else. Between `begin`
 * and `end`, the event loop never waits, so an iteration contains only work. The length of a step is the lesser of
 * the elapsed time and the CPU time, because other programs may delay the process, and other threads of the process
 * also use CPU time.
 */
export class Meter {
  readonly #collections: PerformanceEntry[] = []
  readonly #observer = new PerformanceObserver(list => this.#collections.push(...list.getEntries()))
  #isRunning = false
  #steps: Step[] = []
  #cpuMs = 0
  #longestMs = 0
  #idleCount = 0
  #heldBefore = 0
  #lastWall = 0
  #lastCpu = process.cpuUsage()

  begin(): void {
    this.#heldBefore = heldBytes()
    this.#collections.length = 0
    this.#observer.observe({ entryTypes: ['gc'] })
    this.#steps = []
    this.#cpuMs = 0
    this.#longestMs = 0
    this.#idleCount = 0
    this.#isRunning = true
    this.#lastWall = performance.now()
    this.#lastCpu = process.cpuUsage()
    setImmediate(this.#measureStep)
  }

  /** Waits until the process is idle, and returns the measurements. */
  async end(): Promise<Measurement> {
    this.#idleCount = 0
    const deadline = performance.now() + MAX_IDLE_WAIT_MS
    while (this.#idleCount < IDLE_ITERATIONS && performance.now() < deadline)
      await new Promise(resolve => setTimeout(resolve, 1))
    this.#isRunning = false
    // The entries of collections are delivered in a later iteration.
    await new Promise(resolve => setTimeout(resolve, 1))
    this.#collections.push(...this.#observer.takeRecords())
    this.#observer.disconnect()
    const steps = [this.#longestMs, ...this.#steps.map(step => this.#withoutCollections(step))]
    const longestStepsMs = steps.sort((a, b) => b - a).slice(0, MAX_REPORTED_STEPS)
    return { cpuMs: this.#cpuMs, longestStepsMs, heldBytes: heldBytes() - this.#heldBefore }
  }

  readonly #measureStep = (): void => {
    const start = this.#lastWall
    const cpu = process.cpuUsage()
    const end = performance.now()
    const cpuMs = (cpu.user + cpu.system - this.#lastCpu.user - this.#lastCpu.system) / 1_000
    const ms = Math.min(end - start, cpuMs)
    this.#lastWall = end
    this.#lastCpu = cpu
    if (ms < MIN_STEP_MS) this.#idleCount++
    else this.#addStep({ start, end, ms }, cpuMs)
    if (this.#isRunning) setImmediate(this.#measureStep)
  }

  #addStep(step: Step, cpuMs: number): void {
    this.#idleCount = 0
    this.#cpuMs += cpuMs
    if (step.ms < MIN_KEPT_MS) this.#longestMs = Math.max(this.#longestMs, step.ms)
    else if (this.#steps.length < MAX_KEPT_STEPS) this.#steps.push(step)
    else this.#longestMs = Math.max(this.#longestMs, step.ms)
  }

  #withoutCollections({ start, end, ms }: Step): number {
    const during = this.#collections.filter(({ startTime }) => startTime >= start && startTime < end)
    return Math.max(0, ms - during.reduce((sum, { duration }) => sum + duration, 0))
  }
}

/** Returns the reachable bytes. Memory that finalizers release is free only after the second collection. */
function heldBytes(): number {
  globalThis.gc?.()
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const REFERENCE_ROUNDS = 200
const REFERENCE_REPEATS = 5

/**
 * Returns the CPU time in ms of a fixed workload that resembles a server: strings, maps, JSON and copies. Its ratio to
 * the time on the machine where the bounds were set scales the bounds.
 */
export function referenceMs(): number {
  let best = Number.POSITIVE_INFINITY
  for (let repeat = 0; repeat < REFERENCE_REPEATS; repeat++) {
    const before = process.cpuUsage()
    const start = performance.now()
    let total = 0
    for (let round = 0; round < REFERENCE_ROUNDS; round++) total += referenceRound(round)
    const { user, system } = process.cpuUsage(before)
    if (total > 0) best = Math.min(best, performance.now() - start, Math.max(0.001, (user + system) / 1_000))
  }
  return best
}

function referenceRound(round: number): number {
  const map = new Map<string, Uint8Array>()
  for (let n = 0; n < 200; n++) map.set(`name/${round}/${n}`, Buffer.alloc(64, n))
  const parsed: unknown = JSON.parse(JSON.stringify(Array.from(map.keys())))
  return Buffer.concat(Array.from(map.values())).length + String(parsed).split('/').length
}
