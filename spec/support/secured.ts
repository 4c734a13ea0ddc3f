import { inOrder, type Method, type ServeOptions } from '../../src/standalone.js'
import type { ManualClock } from './manual-clock.js'
import { openStore } from './open-store.js'
import { RawClient } from './raw-client.js'

/** Everybody is whom they call themselves, if the password is that name backwards; `attributes` by name. */
export const backwards =
  (attributes: Readonly<Record<string, Readonly<Record<string, string>>>> = {}): Method =>
  ({ username, password }) => {
    if (username === undefined || password === undefined) return undefined
    if (Buffer.from(password).toString() !== Array.from(username).reverse().join(''))
      return { refused: 'credentials', reason: 'user name or password is wrong' }
    return { principal: { username, attributes: attributes[username] } }
  }

/** Credentials for {@link backwards}. */
export const as = (username: string) => ({ username, password: Array.from(username).reverse().join('') })

/** A store that asks who one is. */
export const openSecured = async (options: ServeOptions = {}) =>
  openStore({ authenticate: inOrder([backwards()]), ...options })

/** The reason code of the CONNACK with which somebody is turned away. */
export async function turnedAway(url: string, id: string, options: Parameters<typeof RawClient.connect>[2] = {}) {
  return RawClient.connect(url, id, options).then(
    () => 'let in',
    error => ('code' in error ? error.code : error),
  )
}

/** A timestamp that the store believes. */
export const now = (clock: ManualClock): { timestamp: string } => ({ timestamp: `${clock.now()}:0:CLIENT` })
