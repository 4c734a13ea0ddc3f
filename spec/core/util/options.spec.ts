import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { addOptions, optionsIn, refuseOthers } from '../../../src/cli/flags.js'
import {
  checkValues,
  choice,
  count,
  givenOf,
  type OptionTable,
  port,
  text,
  texts,
  toggle,
  withDefaults,
} from '../../../src/core/util/options.js'
import { ATTACH_OPTIONS } from '../../../src/server/attach/options.js'
import { SERVE_OPTIONS } from '../../../src/server/host/options.js'
import { QUOTAS } from '../../../src/server/host/quotas.js'
import { STORAGE_OPTIONS } from '../../../src/server/storage/storage-options.js'

const TABLE = {
  maxKeys: { kind: count, default: 5, help: 'most keys' },
  wsPort: { kind: port, help: 'port' },
  data: { kind: text('<dir>'), without: 'none', help: 'directory' },
  persist: { kind: choice('<which>', ['all', 'none']), default: 'all', help: 'what is kept' },
  persistKeys: { kind: texts('<glob>', 'a list of globs'), flag: '--persist-key', help: 'which keys' },
  trustProxy: { kind: toggle, help: 'behind a proxy' },
  hidden: { kind: count, default: 7 },
} satisfies OptionTable

function parse(...args: readonly string[]) {
  const command = new Command('test').exitOverride().configureOutput({ writeErr: () => undefined })
  addOptions(command, TABLE)
  command.parse(args, { from: 'user' })
  return { command, flags: command.opts() }
}

describe('A table of options', () => {
  it('defines flags that set the options of the table', () => {
    const args = ['--max-keys', '3', '--data', './state', '--persist-key', 'a', '--persist-key', 'b', '--trust-proxy']
    expect(optionsIn(TABLE, parse(...args).flags)).toEqual({
      maxKeys: 3,
      data: './state',
      persistKeys: ['a', 'b'],
      trustProxy: true,
    })
    expect(optionsIn(TABLE, parse().flags)).toEqual({})
  })

  it('defines the help of flags, including their defaults', () => {
    const { command } = parse()
    expect(command.options.map(({ flags, description }) => `${flags}: ${description}`)).toEqual([
      '--max-keys <n>: most keys (5)',
      '--ws-port <port>: port',
      '--data <dir>: directory (none)',
      '--persist <which>: what is kept (all)',
      '--persist-key <glob>: which keys',
      '--trust-proxy: behind a proxy',
    ])
  })

  it.each([
    ['--max-keys', '0', 'a positive integer'],
    ['--max-keys', '1e3', 'a positive integer'],
    ['--ws-port', '65536', 'a port number from 0 to 65535'],
    ['--persist', 'some', 'all, none'],
  ])('rejects the flag %s %s', (flag, value, expected) => {
    expect(() => parse(flag, value)).toThrow(expected)
  })

  it.each([
    ['maxKeys', 1.5, '`maxKeys` to be a positive integer up to 2^53 - 1, got `1.5` (number)'],
    ['maxKeys', 1e20, 'a positive integer up to 2^53 - 1'],
    ['wsPort', '80', '`wsPort` to be a port number from 0 to 65535, got `80` (string)'],
    ['persist', 'some', '`persist` to be one of all, none, got `some` (string)'],
    ['persistKeys', 'a', '`persistKeys` to be a list of globs, got `a` (string)'],
    ['trustProxy', 'yes', '`trustProxy` to be true or false, got `yes` (string)'],
  ])('rejects the option %s: %j', (name, value, words) => {
    expect(() => checkValues(TABLE, { [name]: value })).toThrow(words)
  })

  it('returns the given values, and the defaults of all others', () => {
    expect(givenOf(TABLE, { maxKeys: 3, wsPort: undefined })).toEqual({ maxKeys: 3 })
    expect(withDefaults(TABLE, { persist: 'none' })).toEqual({ maxKeys: 5, persist: 'none', hidden: 7 })
  })

  it('reports the first flag that requires another flag', () => {
    expect(() => refuseOthers(TABLE, { persistKey: ['a'] }, '--log')).toThrow('--persist-key requires --log')
    expect(() => refuseOthers(TABLE, { other: 1 }, '--log')).not.toThrow()
  })

  it.each([
    ['serve', { ...SERVE_OPTIONS, ...QUOTAS, ...STORAGE_OPTIONS }],
    ['attach', { ...ATTACH_OPTIONS, ...STORAGE_OPTIONS }],
  ])('has valid defaults for %s', (_, table: OptionTable) => {
    expect(() => checkValues(table, withDefaults(table, {}))).not.toThrow()
  })
})
