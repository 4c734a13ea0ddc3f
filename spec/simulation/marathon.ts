import { setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { SUITES, type SuiteName } from './suites.js'
import { normalizeViolation } from './worlds/suite.js'

interface Task {
  readonly suites: readonly SuiteName[]
  readonly first: number
  /** The index of this core. Each core takes every `cores`-th block of seeds. */
  readonly core: number
  readonly cores: number
  /** The deadline in milliseconds since the Unix epoch. */
  readonly deadline: number
}

interface Failure {
  readonly suite: SuiteName
  readonly seed: number
  readonly family: string
  /** The report of the shrunk schedule, only for the first failure of a family on this core. */
  readonly report: string | undefined
}

const SEED_COUNT = 2 ** 32
const BLOCK_SIZE = 250

const { suites, first, core, cores, deadline }: Task = workerData
const families = new Set<string>()

function failureOf(suite: SuiteName, seed: number): Failure | undefined {
  const [violation] = SUITES[suite].violations(seed)
  if (violation === undefined) return undefined
  const family = normalizeViolation(violation)
  const isNew = !families.has(`${suite} ${family}`)
  families.add(`${suite} ${family}`)
  return { suite, seed, family, report: isNew ? SUITES[suite].report(seed) : undefined }
}

for (let block = core; Date.now() < deadline; block += cores) {
  for (const suite of suites) {
    const failures: Failure[] = []
    let count = 0
    for (; count < BLOCK_SIZE && Date.now() < deadline; count++) {
      const failure = failureOf(suite, (first + block * BLOCK_SIZE + count) % SEED_COUNT)
      if (failure) failures.push(failure)
    }
    parentPort?.postMessage({ done: { [suite]: count }, failures })
    // Promises that are not awaited settle between turns, and retain their whole world until then.
    await nextTurn()
  }
}
