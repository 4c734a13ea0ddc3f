import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { Authority } from '../../../harness/certificates.js'
import { Random } from '../../../harness/random.js'
import { Hlc } from '../../../src/core/hlc/hlc.js'
import type { DumpLine } from '../../../src/node/dump/codec.js'
import { type AuditEvent, certificates, firstOf, serve, Tokens } from '../../../src/server/index.js'
import { readDirectory } from '../../../src/server/storage/directory.js'
import { nightly, SEED } from '../../support/effort.js'
import { Mosquitto } from '../../support/mosquitto.js'
import { openAttached } from '../../support/open-attached.js'
import { SERVICES } from '../../support/services.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { cuttingLink } from './cutting-link.js'

const run = promisify(execFile)
const ROOT = new URL('../../..', import.meta.url).pathname
const CLIENT = join(ROOT, 'spec/system/interop/rust-client')
const COMPILED = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'rx-statestore/rust-client')
/** The client's versions: the released one, and the next one, which lists keys. */
const RELEASED = { version: '1.3.0', manifest: 'Cargo.toml', program: 'interop-rust', checks: 15 }
const NEXT = { version: '1.5.0-beta1', manifest: 'next/Cargo.toml', program: 'interop-rust-next', checks: 16 }
const VERSIONS = [NEXT, RELEASED]
const BUILD_TIME = 600_000
const WRITES = nightly(1_000, 200)

/** Returns a line with its version in the form of this package. The client pads numbers with zeros. */
const unpadded = (line: string): string =>
  line.replace(/\S+$/, word => (line.startsWith('ok ') ? String(Hlc.parse(word)) : word))

const pathOf = ({ program }: typeof RELEASED): string => join(CLIENT, 'target', program)

beforeAll(async () => {
  mkdirSync(join(CLIENT, 'target'), { recursive: true })
  // The dependencies take two minutes of a core to compile. They are the same for every checkout, and nearly the same
  // for both versions.
  for (const client of VERSIONS) {
    const { manifest, program } = client
    await run('cargo', ['build', '--quiet', '--target-dir', COMPILED, '--manifest-path', manifest], { cwd: CLIENT })
    // Another checkout may compile its version in the same folder.
    copyFileSync(join(COMPILED, 'debug', program), pathOf(client))
  }
}, BUILD_TIME)

/** Returns the lines of a run that report a failure, and the number of all lines. */
async function runChecks(client: typeof RELEASED, url: string, ...flags: readonly string[]) {
  const where = ['--host', flags.length > 0 ? 'localhost' : '127.0.0.1', '--port', new URL(url).port]
  const { stdout } = await run(pathOf(client), [...where, ...flags])
  const lines = stdout.trim().split('\n')
  return { wrong: lines.filter(line => !line.startsWith('ok ')), count: lines.length }
}

/** Runs the checks of both versions at the same time, because they wait for most of their time. */
const runBoth = async (url: string) => Promise.all(VERSIONS.map(async client => runChecks(client, url)))
const ALL_PASSED = VERSIONS.map(({ checks }) => ({ wrong: [], count: checks }))

describe(`the official Rust client ${RELEASED.version} and ${NEXT.version}`, () => {
  it.each(['registered', 'subscribed'] as const)(
    'all checks of both client versions pass at a store that notifies %s clients',
    async notifications => {
      await using store = await serve({ port: 0, wsPort: 0, notifications })
      expect(await runBoth(store.url)).toEqual(ALL_PASSED)
    },
    70_000,
  )

  it.skipIf(!SERVICES.mosquitto.present)(
    'all checks of both client versions pass at a store attached to Mosquitto',
    async () => {
      const broker = await Mosquitto.launch()
      await openAttached(broker.url)
      expect(await runBoth(broker.url)).toEqual(ALL_PASSED)
    },
    70_000,
  )
})

describe('the official Rust client', () => {
  it.each(['in memory', 'on disk'] as const)(
    `a store %s applies each write once over a network that breaks (seed ${SEED})`,
    async place => {
      const data = temporaryFolder()
      const onDisk = place === 'on disk'
      const store = await serve({ port: 0, wsPort: 0, ...(onDisk && { data }) })
      const link = await cuttingLink(store.url, new Random(SEED))
      const { stdout } = await run(pathOf(RELEASED), [
        ...['--port', String(link.port), '--writes', String(WRITES)],
      ]).catch((error: unknown) => ({ stdout: String(Object(error).stdout) }))
      const lines = stdout.trim().split('\n').map(unpadded)
      // A retransmission is not rejected.
      expect(lines.filter(line => !line.startsWith('ok '))).toEqual([])
      expect(lines).toHaveLength(WRITES)
      expect(link.cuts).toBeGreaterThan(WRITES / 20)
      expect(link.repeated).toBeGreaterThan(0)
      const loadedKeys = (dumped: Iterable<DumpLine>) =>
        Array.from(dumped, ({ key, version }) => `ok ${key} ${version}`).sort()
      // A retransmission is not applied again, which would change the version, and no write is lost.
      expect(loadedKeys(store.dump())).toEqual(lines.sort())
      await store.close()
      if (onDisk) expect(loadedKeys(await readDirectory(data))).toEqual(lines.sort())
      console.info(`${place}: ${link.cuts} cuts, ${link.repeated} of ${WRITES} writes retransmitted`)
    },
    70_000,
  )

  it('authenticates with a certificate or a service account token', async () => {
    const [servers, clients] = [new Authority('/CN=Servers'), new Authority('/CN=Clients')]
    const subject = 'system:serviceaccount:default:client'
    const { publicKey, privateKey } = await generateKeyPair('RS256')
    const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: 'RS256' }] })
    await using store = await serve({
      port: 0,
      wsPort: 0,
      tls: { ...servers.issue('/CN=localhost'), clientCa: clients.cert },
      authenticate: firstOf([certificates(), new Tokens({ jwks, audiences: ['rx'] }).method]),
      policy: `
- principals: { usernames: [client, "${subject}"] }
  brokerResources: [{ method: Connect }]
  stateStoreResources: [{ method: ReadWrite, keyType: Pattern, keys: ["*"] }]`,
    })
    const logins: AuditEvent[] = []
    store.audit$.subscribe(event => logins.push(event))
    const { cert, key } = clients.files(clients.issue('/CN=client'))
    const token = await new SignJWT({ sub: subject, aud: 'rx' })
      .setProtectedHeader({ alg: 'RS256' })
      .setExpirationTime('1h')
      .sign(privateKey)
    const sat = `${cert}.sat`
    writeFileSync(sat, token)
    const ca = ['--ca', servers.file]
    const runs = [
      runChecks(NEXT, store.url, ...ca, '--cert', cert, '--key', key),
      runChecks(RELEASED, store.url, ...ca, '--sat', sat),
    ]
    expect(await Promise.all(runs)).toEqual(ALL_PASSED)
    const accepted = logins.filter(({ event }) => event === 'login')
    expect(accepted).toHaveLength(2)
    for (const username of ['client', subject])
      expect(accepted).toContainEqual(expect.objectContaining({ outcome: 'accepted', username, listener: 'mqtts' }))
  }, 140_000)
})
