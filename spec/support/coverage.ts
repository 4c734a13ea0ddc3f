import v8 from '@vitest/coverage-v8'
import type { CoverageProviderModule } from 'vitest/node'

let counting = false

/**
 * V8's coverage, but for the files that have a process of their own: what is simulated twenty thousand times would take
 * half as long again for lines that others have counted.
 */
const coverage: CoverageProviderModule = {
  getProvider: v8.getProvider,
  async startCoverage(options) {
    counting = !options.isolate
    if (counting) await v8.startCoverage?.(options)
  },
  takeCoverage: async options => (counting ? v8.takeCoverage?.(options) : undefined),
  async stopCoverage(options) {
    if (counting) await v8.stopCoverage?.(options)
  },
}

export default coverage
