import type { SharedLog } from '../../src/server/log/cluster/settings.js'

const isWhole = (log: object): log is SharedLog => 'settings' in log && 'connect' in log

/** A log with what the types of the package leave out: how its node goes about it, and its connection. */
export function wholeLog(log: object): SharedLog {
  if (!isWhole(log)) throw new Error('Expected a log with `settings` and `connect`: has the package changed?')
  return log
}
