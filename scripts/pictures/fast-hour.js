// Preloaded into a store for a picture: its first hour passes in a minute. Only the wall clock and timers of a second or
// more are faster, so rates and durations are real.
const HOUR_MS = 3_600_000
const SPEED = 60

const start = Date.now()
const { setTimeout: schedule } = globalThis
const realNow = Date.now.bind(Date)
const isFast = () => (realNow() - start) * SPEED < HOUR_MS

Date.now = () => {
  const elapsed = realNow() - start
  return start + (isFast() ? elapsed * SPEED : HOUR_MS + elapsed - HOUR_MS / SPEED)
}
globalThis.setTimeout = Object.assign(
  /** @type {(task: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => NodeJS.Timeout} */
  (task, ms = 0, ...args) => schedule(task, ms >= 1_000 && isFast() ? ms / SPEED : ms, ...args),
  schedule,
)
