import { readFileSync } from 'node:fs'
import type { Authenticator } from '@nats-io/transport-node'
import { utf8 } from '../../../core/util/bytes.js'
import { ArgumentError, reason } from '../../../core/util/errors.js'
import type { JetStreamSettings } from './options.js'
import type { NatsPackages } from './packages.js'

/**
 * Returns the authenticator of a login, or `undefined` without credentials. It reads secrets at each login, because
 * they are replaced while a node runs. Throws {@link ArgumentError} if they cannot be read now.
 */
export function authenticatorOf(
  { user, pass, token, credsFile, nkeyFile }: JetStreamSettings['login'],
  transport: NatsPackages['transport'],
): Authenticator | undefined {
  const { credsAuthenticator, nkeyAuthenticator, usernamePasswordAuthenticator, tokenAuthenticator } = transport
  if (credsFile !== undefined) return renewed(() => credsAuthenticator(readFileSync(credsFile)))
  if (nkeyFile !== undefined) return renewed(() => nkeyAuthenticator(utf8(readFileSync(nkeyFile, 'utf8').trim())))
  if (token !== undefined) return renewed(() => tokenAuthenticator(secretOf(token)))
  if (user === undefined) return undefined
  return renewed(() => usernamePasswordAuthenticator(user, pass === undefined ? undefined : secretOf(pass)))
}

const secretOf = (secret: string | (() => string)): string => (typeof secret === 'function' ? secret() : secret)

/**
 * Logs in with the last usable secret while a new one cannot be read, such as a file that is being replaced. An
 * authenticator that throws would end the connection for good.
 */
function renewed(read: () => Authenticator): Authenticator {
  let last: Authenticator
  try {
    last = read()
    last()
  } catch (cause) {
    throw new ArgumentError(`Cannot use the credentials for NATS: ${reason(cause)}`, { cause })
  }
  return nonce => {
    try {
      const current = read()
      const login = current(nonce)
      last = current
      return login
    } catch {
      return last(nonce)
    }
  }
}
