import { describe, expect, it } from 'vitest'
import { bytesOf } from '../support/packets.js'
import { CONNACK, grant, scriptedBroker } from '../support/scripted-broker.js'
import { execute, openStore, start } from './test-io.js'

const NOWHERE = 'mqtt://127.0.0.1:1'

describe('several broker addresses', () => {
  it.each([
    ['flags', (url: string) => ({ flags: ['--url', NOWHERE, '--url', url], env: {} })],
    ['a flag with a comma', (url: string) => ({ flags: ['--url', `${NOWHERE}, ${url}`], env: {} })],
    ['the environment', (url: string) => ({ flags: [], env: { RX_STATESTORE_URL: `${NOWHERE},${url}` } })],
  ])('can be given with %s', async (_, where) => {
    const { url } = await openStore()
    const { flags, env } = where(url)
    expect(await execute(['set', 'k', 'v', ...flags], { env })).toMatchObject({ code: 0 })
    expect(await execute(['get', 'k', '--url', url])).toMatchObject({ code: 0, stdout: 'v' })
  })

  it('can contain a comma in a password', async () => {
    const { url } = await openStore()
    const withPassword = url.replace('//', '//me:a,b@')
    expect(await execute(['keys', '--url', `${NOWHERE},${withPassword}`])).toMatchObject({ code: 0 })
  })

  it('are all listed in the error, without passwords, if none is reachable', async () => {
    const args = ['get', 'k', '--url', NOWHERE, '--url', 'mqtt://me:secret@127.0.0.1:2', '--timeout', '1000']
    const { code, stderr } = await execute(args)
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /cannot reach mqtt:\/\/127\.0\.0\.1:1 or mqtt:\/\/127\.0\.0\.1:2 within 1000 ms: .*ECONNREFUSED/,
    )
    expect(stderr).not.toContain('secret')
  })

  it('are tried in turn, and `status` prints the connected address', async () => {
    const { url } = await openStore()
    const { stdout } = await execute(['status', '--json', '--url', NOWHERE, '--url', url])
    expect(JSON.parse(stdout)).toMatchObject({ broker: url })
  })

  it('are rejected by `attach`', async () => {
    const { code, stderr } = await execute(['attach', '--url', NOWHERE, '--url', NOWHERE])
    expect(code).toBe(2)
    expect(stderr).toContain('attach takes one broker URL, got several')
  })

  it('let a watch continue at another address when the store at the first address stops', async () => {
    const stores = [await openStore(), await openStore()]
    const { stderr } = start(['watch', 'k', ...stores.flatMap(({ url }) => ['--url', url])])
    const line = await stderr.line(/connected to mqtt:/)
    const home = stores.find(({ url }) => line.endsWith(url))
    const other = stores.find(store => store !== home)
    await stderr.line(/watching the key/)
    await home?.close()
    await stderr.line(new RegExp(`connected to ${other?.url} again`))
    await stderr.line(/resynchronised the key/)
  })
})

describe('a repeated problem', () => {
  it('is reported once if no store responds at the broker', async () => {
    const attempts = new Map<number, number>()
    const broker = await scriptedBroker(
      side => side.send(CONNACK),
      (side, packet) => {
        grant(side, packet)
        if (packet.cmd !== 'publish') return
        attempts.set(side.number, (attempts.get(side.number) ?? 0) + 1)
        side.socket.write(bytesOf({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: 16 }))
        // The connection ends after enough attempts. The report of its end follows all earlier reports.
        if (attempts.get(1) === 4) side.socket.end()
      },
    )
    const { stderr } = start(['watch', 'k', '--url', broker.url])
    await stderr.line(/No state store listens/)
    await stderr.line(/connection lost/)
    expect(stderr.lines.filter(line => /No state store listens/.test(line))).toHaveLength(1)
  })
})
