import { expect, it } from 'vitest'
import { ForeignMessageReporter } from '../../../../src/server/log/cluster/trust.js'
import { ManualClock } from '../../../support/manual-clock.js'

it('a foreign message that was held back is reported ten seconds after the last report', () => {
  const clock = new ManualClock()
  const reports: unknown[] = []
  const reporter = new ForeignMessageReporter(clock, error => reports.push(error))
  reporter.add(1, 'forged')
  clock.advance(9_900)
  reporter.add(2, 'forged')
  reporter.flush()
  expect(reports).toHaveLength(1)
  clock.advance(100)
  reporter.flush()
  expect(reports).toHaveLength(2)
})
