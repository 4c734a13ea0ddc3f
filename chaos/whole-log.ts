import type { SharedLog } from '../src/server/log/cluster/settings.js'

const isWhole = (log: object): log is SharedLog => 'settings' in log && 'connect' in log

/** Narrows a log to its internal interface, whose settings and connection the package's types omit. */
export function wholeLog(log: object): SharedLog {
  if (!isWhole(log)) throw new Error('Expected a log with `settings` and `connect`: has the package changed?')
  return log
}
