import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../../harness/certificates.js'
import { certificates, firstOf } from '../../../../src/server/index.js'
import { openStore } from '../../../support/open-store.js'
import { as, backwards } from '../../../support/secured.js'

const run = promisify(execFile)
const POLICY = `
- principals: { usernames: [alice] }
  brokerResources: [{ method: Connect }, { method: Publish, topics: [news] }]`

async function open() {
  const [servers, clients] = [new Authority('/CN=Servers'), new Authority('/CN=Clients')]
  const { store } = await openStore({
    tls: { ...servers.issue('/CN=localhost'), clientCa: clients.cert },
    authenticate: firstOf([certificates(), backwards()]),
    policy: POLICY,
  })
  const { port } = new URL(store.url)
  const publish = async (topic: string, ...flags: readonly string[]): Promise<string> => {
    const where = ['-h', 'localhost', '-p', port, '--cafile', servers.file, '-V', '5', '-q', '1']
    const done = run('mosquitto_pub', [...where, '-t', topic, '-m', 'x', ...flags])
    return done.then(
      // On a rejected publish, mosquitto_pub prints a warning and exits.
      ({ stderr }) => stderr || 'published',
      ({ code, stderr }) => `${code} ${stderr}`,
    )
  }
  return { clients, publish }
}

describe('mosquitto_pub over TLS', () => {
  it('authenticates with a password and publishes only to permitted topics', async () => {
    const { publish } = await open()
    const { username, password } = as('alice')
    expect(await publish('news', '-u', username, '-P', password)).toBe('published')
    expect(await publish('other', '-u', username, '-P', password)).toMatch(/not authori[sz]ed/i)
    expect(await publish('news', '-u', username, '-P', 'guess')).toMatch(/Bad (user ?name|User Name) or password/i)
    expect(await publish('news')).toMatch(/not authori[sz]ed/i)
  })

  it('authenticates with a certificate', async () => {
    const { clients, publish } = await open()
    const flagsOf = (authority: Authority): string[] => {
      const { cert, key } = authority.files(authority.issue('/CN=alice'))
      return ['--cert', cert, '--key', key]
    }
    expect(await publish('news', ...flagsOf(clients))).toBe('published')
    expect(await publish('news', ...flagsOf(new Authority('/CN=Clients')))).toMatch(/not authori[sz]ed/i)
  })
})
