import { type Clock, systemClock } from '../../src/core/util/clock.js'
import { TurnScheduler } from '../../src/node/limits/turn-scheduler.js'

/** Returns a scheduler whose items must not throw. */
export const openTurnScheduler = (clock: Clock = systemClock): TurnScheduler =>
  new TurnScheduler(clock, error => {
    throw error
  })
