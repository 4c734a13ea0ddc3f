import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as transport from '@nats-io/transport-node'
import { nkeys } from '@nats-io/transport-node'
import { describe, expect, it } from 'vitest'
import { ArgumentError } from '../../../../src/core/util/errors.js'
import { authenticatorOf } from '../../../../src/server/log/jetstream/nats-login.js'
import { temporaryFolder } from '../../../support/temporary-folder.js'

const seed = (): { readonly text: string; readonly publicKey: string } => {
  const user = nkeys.createUser()
  return { text: `${new TextDecoder().decode(user.getSeed())}\n`, publicKey: user.getPublicKey() }
}

describe('the login of a node at NATS', () => {
  it('reads the seed of an nkey again each time', () => {
    const file = join(temporaryFolder(), 'nkey')
    const [first, second] = [seed(), seed()]
    writeFileSync(file, first.text)
    const login = authenticatorOf({ nkeyFile: file }, transport)
    expect(login?.('nonce')).toMatchObject({ nkey: first.publicKey })
    writeFileSync(file, second.text)
    expect(login?.('nonce')).toMatchObject({ nkey: second.publicKey })
  })

  it.each([
    ['is missing', (file: string) => rmSync(file)],
    ['is half written', (file: string) => writeFileSync(file, 'SU')],
  ])('keeps the last seed while the file %s, because an exception would end the connection', (_, damage) => {
    const file = join(temporaryFolder(), 'nkey')
    const { text, publicKey } = seed()
    writeFileSync(file, text)
    const login = authenticatorOf({ nkeyFile: file }, transport)
    damage(file)
    expect(login?.('nonce')).toMatchObject({ nkey: publicKey })
  })

  it('calls a function for the password and for the token', () => {
    let secret = 'first'
    const logins = [
      authenticatorOf({ user: 'u', pass: () => secret }, transport),
      authenticatorOf({ token: () => secret }, transport),
    ]
    secret = 'second'
    expect(logins.map(login => login?.())).toEqual([{ user: 'u', pass: 'second' }, { auth_token: 'second' }])
  })

  it.each([{ credsFile: '/nowhere' }, { nkeyFile: '/nowhere' }])('refuses a file that cannot be read: %j', login => {
    expect(() => authenticatorOf(login, transport)).toThrow(ArgumentError)
  })

  it('has no credentials by default', () => {
    expect(authenticatorOf({}, transport)).toBeUndefined()
  })
})
