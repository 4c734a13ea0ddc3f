import { expect, it } from 'vitest'
import { REGRESSIONS } from './regressions.js'
import { SUITES } from './suites.js'

for (const { suite, generator, lessons } of REGRESSIONS)
  it.each(Object.entries(lessons))(`the simulation "${suite}" passes its former failures: %s`, (_, seeds) => {
    const { violations, report } = SUITES[suite]
    for (const seed of seeds) if (violations(seed, generator).length > 0) expect.fail(report(seed, generator))
  })
