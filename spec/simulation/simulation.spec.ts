import { expect, it } from 'vitest'
import { simulateAll } from './simulate.js'

const SEED = process.env['SEED']
const SCHEDULES = SEED === undefined ? 20_000 : 1
const FIRST = SEED === undefined ? 1 : Number(SEED)

it(`keeps its promises in ${SCHEDULES} simulated disasters`, { timeout: 300_000 }, () => {
  const { failure, total } = simulateAll(FIRST, SCHEDULES)
  console.info(`${SCHEDULES} schedules: ${JSON.stringify(total)}`)
  expect(failure).toBeUndefined()
})
