import v8 from '@vitest/coverage-v8'
import type { CoverageProviderModule } from 'vitest/node'

let counting = false

/**
 * Collects V8 coverage except in files that run in separate processes. Instrumenting twenty thousand simulations would
 * take half as long again for lines that other specs already cover.
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
