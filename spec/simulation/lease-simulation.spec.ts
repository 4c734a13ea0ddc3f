import { expect, it } from 'vitest'
import { simulateAllLeases } from './lease-simulate.js'

const SEED = process.env['SEED']
// The gate runs them all; a developer need not wait for that.
const ALL = process.env['CI'] === undefined ? 3_000 : 10_000
const SCHEDULES = SEED === undefined ? ALL : 1
const FIRST = SEED === undefined ? 1 : Number(SEED)

it(`leases keep their promises in ${SCHEDULES} simulated disasters`, { timeout: 300_000 }, () => {
  const { failure, total } = simulateAllLeases(FIRST, SCHEDULES)
  console.info(`${SCHEDULES} schedules from seed ${FIRST}: ${JSON.stringify(total)}`)
  expect(failure).toBeUndefined()
})
