import { Worker } from 'node:worker_threads'
import { rolldown } from 'rolldown'
import type { SuiteName } from '../simulation/suites.js'

const ROOT = new URL('../..', import.meta.url).pathname
const ENTRY = '\0hunt'

/** The first complaint of a simulation. */
export interface Catch {
  readonly seed: number
  readonly complaint: string
}

/** The schedules that a simulation should run. */
export interface Hunt {
  readonly simulation: SuiteName
  readonly seeds: readonly number[]
  /** The replaced sources by absolute path. */
  readonly files: ReadonlyMap<string, string>
  /** The text that the complaint must contain. By default, any complaint counts. */
  readonly complaint?: string | undefined
}

const entryOf = (simulation: SuiteName): string => `
  import { parentPort, workerData } from 'node:worker_threads'
  import { suite } from '${ROOT}spec/simulation/suites/${simulation}.ts'

  const { seeds, complaint = '' } = workerData
  let found
  for (const seed of seeds) {
    const violation = suite.violations(seed).find(one => one.includes(complaint))
    if (violation === undefined) continue
    found = { seed, complaint: violation }
    break
  }
  parentPort.postMessage(found)
`

/** Bundles a simulation with its sources as one script. Packages are not bundled. */
async function bundle(simulation: SuiteName, files: Hunt['files']): Promise<string> {
  const build = await rolldown({
    input: ENTRY,
    platform: 'node',
    logLevel: 'silent',
    external: [/^[\w@]/],
    plugins: [
      {
        name: 'mutant',
        resolveId: id => (id === ENTRY ? id : undefined),
        load: id => (id === ENTRY ? entryOf(simulation) : files.get(id)),
      },
    ],
  })
  const { output } = await build.generate({ format: 'cjs', codeSplitting: false })
  await build.close()
  return output[0].code
}

/**
 * Runs schedules of a simulation in a worker thread until the simulation reports a violation. Each mutant is a new
 * program, so that its state does not affect other mutants.
 *
 * @param signal - ends the thread, because a mutant may loop endlessly
 */
export async function hunt(
  { simulation, seeds, files, complaint }: Hunt,
  signal: AbortSignal,
): Promise<Catch | undefined> {
  const script = await bundle(simulation, files)
  const worker = new Worker(script, { eval: true, workerData: { seeds, complaint } })
  const end = (): void => void worker.terminate()
  signal.addEventListener('abort', end)
  try {
    return await new Promise((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
      worker.once('exit', () => reject(new Error(`the simulation ${simulation} ended without a result`)))
    })
  } finally {
    signal.removeEventListener('abort', end)
    await worker.terminate()
  }
}
