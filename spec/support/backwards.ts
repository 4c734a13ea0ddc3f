import type { Method } from '../../src/server/index.js'

/** Accepts a client whose password is its reversed name. `attributes` are by name. */
export const backwards =
  (attributes: Readonly<Record<string, Readonly<Record<string, string>>>> = {}): Method =>
  ({ username, password }) => {
    if (username === undefined || password === undefined) return undefined
    if (Buffer.from(password).toString() !== Array.from(username).reverse().join(''))
      return { refused: 'credentials', reason: 'user name or password is wrong' }
    return { principal: { username, attributes: attributes[username] } }
  }

/** Returns a user's credentials for {@link backwards}. */
export const as = (username: string) => ({ username, password: Array.from(username).reverse().join('') })
