import { expect, it } from 'vitest'
import { REGRESSIONS } from './regressions.js'
import { SUITES } from './suites.js'

it.each(REGRESSIONS)('$suite: $story', { timeout: 60_000 }, ({ suite, generator, seeds }) => {
  for (const seed of seeds) {
    if (SUITES[suite].violations(seed, generator).length > 0) expect.fail(SUITES[suite].report(seed, generator))
  }
})
