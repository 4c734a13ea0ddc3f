import { fork } from 'node:child_process'
import { once } from 'node:events'
import { BehaviorSubject } from 'rxjs'
import { say } from '../transcript.js'

/** @typedef {'pump-1' | 'pump-2' | 'pump-3'} Name */

/** A member of the station, as the process that it is. */
export class Member {
  /** The last message. */
  news$ = new BehaviorSubject(/** @type {import('./station.js').News | undefined} */ (undefined))
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
    this.#process.on('message', message => this.#hear(/** @type {import('./station.js').News} */ (message)))
  }

  /** Ends it as a power cut does. */
  kill() {
    this.#process.kill('SIGKILL')
    return this.#exit
  }

  /** Asks it to end. */
  stop() {
    this.#process.send('stop')
    return this.#exit
  }

  /** @param {import('./station.js').News} news */
  #hear(news) {
    if (news.role === 'leader') say(this.name, 'leads', { version: news.token, source: 'fencing token' })
    else say(this.name, news.leader === undefined ? 'follows no leader yet' : `follows ${clientOf(news.leader)}`)
    this.news$.next(news)
  }
}

/**
 * The client of a holder, whose name is the client's and a random part.
 *
 * @param {string} [holder]
 */
export const clientOf = holder => holder?.replace(/\/.*$/, '')
