import { fork } from 'node:child_process'
import { once } from 'node:events'
import { BehaviorSubject } from 'rxjs'
import { say } from '../transcript.js'

/** @typedef {'pump-1' | 'pump-2' | 'pump-3'} Name */

/** A member of the station that runs as a separate process. */
export class Member {
  /** The latest role that the member reported. */
  role$ = new BehaviorSubject(/** @type {import('./station.js').RoleReport | undefined} */ (undefined))
  #process
  #exit

  /**
   * @param {Name} name
   * @param {string} url
   */
  constructor(name, url) {
    this.name = name
    this.#process = fork(new URL('./member.js', import.meta.url), [url, name])
    this.#exit = once(this.#process, 'exit')
    this.#process.on('message', message => this.#onReport(/** @type {import('./station.js').RoleReport} */ (message)))
  }

  /** Kills the process, like a power failure. */
  kill() {
    this.#process.kill('SIGKILL')
    return this.#exit
  }

  /** Requests a clean exit. */
  stop() {
    this.#process.send('stop')
    return this.#exit
  }

  /** @param {import('./station.js').RoleReport} report */
  #onReport(report) {
    if (report.role === 'leader') say(this.name, 'leads', { version: report.token, source: 'fencing token' })
    else say(this.name, report.leader === undefined ? 'follows no leader yet' : `follows ${clientOf(report.leader)}`)
    this.role$.next(report)
  }
}

/**
 * Returns the client id of a holder. The name of a holder is the client id followed by a random part.
 *
 * @param {string} [holder]
 */
export const clientOf = holder => holder?.replace(/\/.*$/, '')
