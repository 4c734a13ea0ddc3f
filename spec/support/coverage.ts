import v8 from '@vitest/coverage-v8'
import type { CoverageProviderModule } from 'vitest/node'

let counting = false

/**
 * V8 coverage, without files that run in separate processes: instrumenting twenty thousand simulations would take
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
