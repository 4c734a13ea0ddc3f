import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { serve } from '../../../src/server/index.js'
import { type JetStreamOptions, jetStreamLog } from '../../../src/server/log/jetstream/index.js'
import { natsPackages } from '../../../src/server/log/jetstream/packages.js'
import { execute } from '../../cli/test-io.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const SERVERS = 'nats://127.0.0.1:1'

describe('jetStreamLog', () => {
  afterEach(() => vi.doUnmock('@nats-io/obj'))

  it.each<readonly [Partial<JetStreamOptions> & Record<string, unknown>, RegExp]>([
    [{ servers: [] }, /`servers`/],
    [{ servers: 'a,,b' }, /`servers`/],
    [{ name: 'a.b' }, /`name`/],
    [{ nodeId: '' }, /`nodeId`/],
    [{ nodeId: 'n>' }, /`nodeId`/],
    [{ replicas: 2 }, /`replicas`/],
    [{ reads: 'stale' as 'local' }, /`reads`/],
    [{ stallTimeout: 0 }, /`stallTimeout`/],
    [{ replica: 3 }, /replicas/],
  ])('the options %o are rejected', (options, words) => {
    expect(() => jetStreamLog({ servers: SERVERS, ...options })).toThrow(words)
  })

  it('by default, the store is named "default" and the node has a name valid as an id', () => {
    const log = jetStreamLog({ servers: `${SERVERS}, b:4222` })
    expect(log.name).toBe('default')
    expect(log.settings.nodeId).toMatch(/^[\w-]+$/)
  })

  it('opening fails when no server is usable, and the error names the servers that were tried', async () => {
    const log = jetStreamLog({ servers: SERVERS, connectTimeout: 50 })
    await expect(serve({ port: 0, wsPort: 0, log })).rejects.toMatchObject({
      code: 'connection-lost',
      message: expect.stringContaining(SERVERS),
    })
  })

  it('opening fails when the login file is missing', async () => {
    const folder = temporaryFolder()
    const log = jetStreamLog({ servers: SERVERS, credsFile: join(folder, 'none') })
    await expect(firstValueFrom(log.connect())).rejects.toThrow(/ENOENT/)
    rmSync(folder, { recursive: true })
  })

  it('the error names the packages to install when the NATS packages are missing', async () => {
    vi.doMock('@nats-io/obj', () => {
      throw new Error('Cannot find package')
    })
    await expect(natsPackages()).rejects.toMatchObject({
      code: 'not-installed',
      message: expect.stringContaining('npm install @nats-io/transport-node'),
    })
  })

  it('a log cannot be combined with a directory or with volatile keys', async () => {
    const log = jetStreamLog({ servers: SERVERS })
    await expect(serve({ log, data: 'x' })).rejects.toMatchObject({ code: 'argument' })
    await expect(serve({ log, persist: 'none' })).rejects.toMatchObject({ code: 'argument' })
    // @ts-expect-error no log
    await expect(serve({ log: 'nats://a' })).rejects.toMatchObject({ code: 'argument' })
  })
})

describe('log flags of serve', () => {
  const folder = temporaryFolder()
  const seed = join(folder, 'seed.json')
  writeFileSync(seed, '{}')

  it.each([
    [['--node-id', 'n1'], '--node-id requires --log'],
    [['--log-name', 'x'], '--log-name requires --log'],
    [['--log', SERVERS, '--data', 'x'], 'got both'],
    [['--log', SERVERS, '--log-name', 'a b'], '`name`'],
    [['--log', SERVERS, '--log-replicas', '2'], '`replicas`'],
    [['--log', SERVERS, '--seed', seed], '--seed cannot be used with --log'],
    [['--log', SERVERS, '--log-password-file', join(folder, 'none')], '--log-password-file'],
  ])('the flags %o are rejected as a combination', async (flags, words) => {
    const { code, stderr } = await execute(['serve', ...flags])
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)])
  })
})
