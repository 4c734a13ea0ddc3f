import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { addOptions, optionsIn } from '../../../src/cli/flags.js'
import { brokerQuotas, checkQuotas, keyQuotas, QUOTAS, watchQuotas } from '../../../src/server/host/quotas.js'

const PAGE = readFileSync(new URL('../../../docs/security.md', import.meta.url), 'utf8')
const [, SECTION = ''] = /\n## Quotas\n(.*?)\n## /s.exec(PAGE) ?? []
/** The items of the page's list: option, flag and description of the default. */
const items = Array.from(SECTION.matchAll(/^- (`max[^:]*): (.*)$/gm), ([, names = '', words = '']) => {
  const [option = '', flag] = Array.from(names.matchAll(/`([^`]+)`/g), ([, name = '']) => name)
  return { option, flag, words }
})
const numberOf = (words: string): number | undefined => {
  const [, digits, unit] = /^([\d,]+)( MiB)?/.exec(words) ?? []
  return digits === undefined ? undefined : Number(digits.replaceAll(',', '')) * (unit ? 1024 * 1024 : 1)
}

describe('the quotas of a store', () => {
  it('the documentation lists all quotas with their defaults', () => {
    expect(items.map(({ option }) => option).sort()).toEqual(Object.keys(QUOTAS).sort())
    const defaults: Readonly<Record<string, number | undefined>> = { ...checkQuotas({ maxBytes: 1_000 }) }
    for (const { option, words } of items) {
      const number = numberOf(words)
      if (number !== undefined && option !== 'maxBytes') expect(defaults[option], option).toBe(number)
      if (words.startsWith('no limit')) expect(defaults[option], option).toBeUndefined()
    }
  })

  it('each quota has one flag, which sets the same value', () => {
    const command = new Command()
    addOptions(command, QUOTAS)
    const flags = items.flatMap(({ flag }) => flag ?? [])
    expect(command.options.map(({ long }) => long).sort()).toEqual([...flags].sort())
    command.parse(['node', 'serve', ...flags.flatMap((flag, i) => [flag, String(i + 1)])])
    const options = items.flatMap(({ flag, option }) => (flag === undefined ? [] : [option]))
    expect(optionsIn(QUOTAS, command.opts())).toEqual(Object.fromEntries(options.map((option, i) => [option, i + 1])))
  })

  it.each([
    [{ maxMemory: 1 }, 'got `1`'],
    [{ maxMemory: 100, maxBytes: 100 }, 'got `100` with `maxBytes` of 100'],
    [{ maxMemory: 100, maxBufferedBytes: 200 }, 'got `100` with `maxBufferedBytes` of 200'],
  ])('the quotas reject a memory limit that leaves no memory for keys or for buffers: %j', (options, words) => {
    expect(() => checkQuotas(options)).toThrow(
      `Expected \`maxMemory\` to leave memory for keys and for buffers, ${words}`,
    )
    expect(() => checkQuotas({ maxMemory: 2 })).not.toThrow()
  })

  it('half of the buffers are for messages that are not retained, by default', () => {
    expect(checkQuotas({ maxMemory: 1_000 }).maxRetainedBytes).toBe(200)
    expect(checkQuotas({ maxMemory: 1_000, maxRetainedBytes: 5_000 }).maxRetainedBytes).toBe(5_000)
  })

  it('the quotas give a principal the default share of each total, or the configured share', () => {
    const MIB = 1024 * 1024
    const { principal, address } = brokerQuotas(checkQuotas({ maxBytes: 1_000 }))
    expect(principal).toEqual({
      connections: 10_000,
      subscriptions: 100_000,
      retained: 50_000,
      retainedBytes: 128 * MIB,
      waitingBytes: 64 * MIB,
      packetsPerSecond: 50_000,
      bytesPerSecond: 128 * MIB,
      workPerSecond: 64 * MIB,
    })
    expect(address).toMatchObject({ packetsPerSecond: 100_000, bytesPerSecond: 256 * MIB })
    const quarter = checkQuotas({ maxBytes: 1_000, maxKeys: 10, maxPercentPerPrincipal: 25 })
    expect(brokerQuotas(quarter).principal).toMatchObject({ connections: 12_500, subscriptions: 250_000 })
    const account = { name: 'is alice', chargeWork: () => undefined }
    const client = { clientId: 'a', open: true, account, subscribes: () => false, deliver: () => undefined }
    expect(keyQuotas(quarter)(client)).toEqual({ id: 'is alice', maxKeys: 3, maxBytes: 250 })
  })

  it('a principal gets at least 10 connections, subscriptions and watches, or the total', () => {
    const shares = (options: Parameters<typeof checkQuotas>[0]): readonly number[] => {
      const checked = checkQuotas({ maxBytes: 1_000, ...options })
      const { connections, subscriptions } = brokerQuotas(checked).principal
      return [connections, subscriptions, watchQuotas(checked).maxPerOwner]
    }
    expect(shares({ maxConnections: 4, maxSubscriptions: 1, maxWatches: 10 })).toEqual([4, 1, 10])
    expect(shares({ maxConnections: 40, maxSubscriptions: 200, maxWatches: 41 })).toEqual([10, 20, 11])
    const small = { maxConnections: 4, maxSubscriptions: 8, maxWatches: 12 }
    expect(shares({ ...small, maxPercentPerPrincipal: 25 })).toEqual([1, 2, 3])
  })

  it('the quotas reject a share above 100 %', () => {
    expect(() => checkQuotas({ maxPercentPerPrincipal: 101 })).toThrow(
      '`maxPercentPerPrincipal` to be a percentage from 1 to 100, got `101`',
    )
  })

  it.each(Object.keys(QUOTAS))('the quota %s must be a positive whole number', name => {
    for (const wrong of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => checkQuotas({ [name]: wrong })).toThrow(`\`${name}\``)
  })
})
