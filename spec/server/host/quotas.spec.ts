import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { addOptions, optionsIn } from '../../../src/cli/flags.js'
import { checkQuotas, QUOTAS } from '../../../src/server/host/quotas.js'

const TABLE = readFileSync(new URL('../../../docs/security.md', import.meta.url), 'utf8')
  .split('\n')
  .filter(line => /^\| `max/.test(line))
  .map(line => line.split('|').map(cell => cell.trim()))
/** Of the page: the option, the flag and the words about its default. */
const rows = TABLE.map(([, names = '', words = '']) => {
  const [option = '', flag] = Array.from(names.matchAll(/`([^`]+)`/g), ([, name = '']) => name)
  return { option, flag, words }
})
const numberOf = (words: string): number | undefined => {
  const [, digits, unit] = /^([\d,]+)( MiB)?/.exec(words) ?? []
  return digits === undefined ? undefined : Number(digits.replaceAll(',', '')) * (unit ? 1024 * 1024 : 1)
}

describe('The quotas of a store', () => {
  it('are all on the page, with their defaults', () => {
    expect(rows.map(({ option }) => option).sort()).toEqual(Object.keys(QUOTAS).sort())
    const defaults: Readonly<Record<string, number | undefined>> = { ...checkQuotas({ maxBytes: 1_000 }) }
    for (const { option, words } of rows) {
      const number = numberOf(words)
      if (number !== undefined && option !== 'maxBytes') expect(defaults[option], option).toBe(number)
      if (words.startsWith('any')) expect(defaults[option], option).toBeUndefined()
      if (words.startsWith('half'))
        expect(defaults[option], option).toBe((defaults[option.replace('PerPrincipal', '')] ?? 0) / 2)
    }
  })

  it('have a flag each, which says the same', () => {
    const command = new Command()
    addOptions(command, QUOTAS)
    const flags = rows.flatMap(({ flag }) => flag ?? [])
    expect(command.options.map(({ long }) => long).sort()).toEqual([...flags].sort())
    command.parse(['node', 'serve', ...flags.flatMap((flag, i) => [flag, String(i + 1)])])
    const options = rows.flatMap(({ flag, option }) => (flag === undefined ? [] : [option]))
    expect(optionsIn(QUOTAS, command.opts())).toEqual(Object.fromEntries(options.map((option, i) => [option, i + 1])))
  })

  it.each([
    [{ maxMemory: 1 }, 'got `1`'],
    [{ maxMemory: 100, maxBytes: 100 }, 'got `100` beside `maxBytes` of 100'],
    [{ maxMemory: 100, maximumBufferedBytes: 200 }, 'got `100` beside `maximumBufferedBytes` of 200'],
  ])('need memory for keys and for what waits: %j', (options, words) => {
    expect(() => checkQuotas(options)).toThrow(
      `Expected \`maxMemory\` to leave room for keys and for what waits, ${words}`,
    )
    expect(() => checkQuotas({ maxMemory: 2 })).not.toThrow()
  })

  it('leave half of what waits to what is not retained, unless told otherwise', () => {
    const { maxRetainedBytes, maxRetainedBytesPerPrincipal } = checkQuotas({ maxMemory: 1_000 })
    expect([maxRetainedBytes, maxRetainedBytesPerPrincipal]).toEqual([200, 100])
    expect(checkQuotas({ maxMemory: 1_000, maxRetainedBytes: 5_000 }).maxRetainedBytes).toBe(5_000)
  })

  it.each(Object.keys(QUOTAS))('are whole numbers: %s', name => {
    for (const wrong of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => checkQuotas({ [name]: wrong })).toThrow(`\`${name}\``)
  })
})
