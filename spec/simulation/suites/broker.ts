import { reportOf, violationsOf } from '../../server/broker/simulation/simulate.js'
import type { Suite } from '../suite.js'

export const suite: Suite = { violations: violationsOf, report: reportOf }
