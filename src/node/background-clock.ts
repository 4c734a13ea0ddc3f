import { type Clock, scheduleUnref, systemClock } from '../core/util/clock.js'

/** The system clock, whose timers do not keep the process alive. */
export const backgroundClock: Clock = { ...systemClock, schedule: scheduleUnref }
