import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Authority } from '../../harness/certificates.js'
import { optionsOf } from '../../src/cli/connection.js'
import { temporaryFolder } from '../support/temporary-folder.js'

const authority = new Authority('/CN=authority')

describe('files of secrets that flags or the environment name', () => {
  it('are read again before each attempt to connect', async () => {
    const folder = temporaryFolder()
    const path = (name: string): string => join(folder, name)
    const write = (): object => {
      const pair = authority.issue('/CN=panel')
      writeFileSync(path('cert'), pair.cert)
      writeFileSync(path('key'), pair.key)
      writeFileSync(path('password'), pair.key.slice(40, 60))
      return { ...pair, ca: authority.cert, password: pair.key.slice(40, 60) }
    }
    const first = write()
    const flags = { ca: authority.file, cert: path('cert'), key: path('key') }
    const options = optionsOf(flags, { env: { AIO_MQTT_PASSWORD_FILE: path('password') } })
    expect(options).toMatchObject(first)
    expect(await options.credentials?.()).toEqual(first)
    const second = write()
    expect(await options.credentials?.()).toEqual(second)
  })

  it('are refused at the start if a key does not match its certificate', () => {
    const [one, other] = [authority.issue('/CN=a'), authority.issue('/CN=b')].map(pair => authority.files(pair))
    const flags = { cert: one?.cert ?? '', key: other?.key ?? '' }
    expect(() => optionsOf(flags, { env: {} })).toThrow(/Cannot use these certificates and keys/)
  })
})
