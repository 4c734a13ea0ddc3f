import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { connect } from '../../../src/client/index.js'
import { checkLeaseOptions } from '../../../src/client/lease/lease-options.js'
import { checkServeOptions } from '../../../src/pubsub/hub/serve-options.js'
import { settingsFrom as checkAttachOptions } from '../../../src/server/attach/options.js'
import { checkOptions } from '../../../src/server/host/options.js'
import { parseOptions as checkLogOptions } from '../../../src/server/log/jetstream/options.js'
import { optionsIn } from './support/options-in.js'

const ROOT = new URL('../../..', import.meta.url).pathname
const within = (folder: string): string[] => readdirSync(join(ROOT, folder)).map(name => join(folder, name))
const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

const DOCUMENTS = ['.', 'docs', 'docs/decisions', 'docs/internals', 'bench', 'skills/rx-statestore']
  .flatMap(within)
  .filter(file => /\.md$|llms\.txt$/.test(file))
const REPORTS = within('api').map(textOf).join('\n')

/** Calls of functions with an option of the wrong type. Each function complains about a name that it does not know. */
const CALLS: Readonly<Record<string, (option: object) => unknown>> = {
  serve: checkOptions,
  attach: checkAttachOptions,
  servePubSub: option => checkServeOptions({ authenticate: 'anonymous', ...option }),
  // The invalid timeout keeps `connect` from connecting.
  connect: option => connect('mqtt://localhost', { ...option, timeout: -1 }),
  lease: option => checkLeaseOptions({ duration: 1_000, ...option }),
  jetStreamLog: option => checkLogOptions({ servers: 'a', ...option }),
}

function isKnown(call: string, option: string): boolean {
  try {
    CALLS[call]?.({ [option]: undefined })
    return true
  } catch (error) {
    return !String(error).includes(`Unknown option \`${option}\``)
  }
}

describe('The documents', () => {
  it('every limit that the documents name is in the API reports', () => {
    const limits = DOCUMENTS.flatMap(file =>
      Array.from(textOf(file).matchAll(/`((?:max|maximum|min|most)[A-Z]\w*)`/g), ([, name = '']) => ({ file, name })),
    )
    expect(limits.length).toBeGreaterThan(50)
    expect(limits.filter(({ name }) => !new RegExp(`\\b${name}\\??:`).test(REPORTS))).toEqual([])
  })

  it('every option in the documents is known to its function', () => {
    const given = DOCUMENTS.flatMap(file =>
      optionsIn(textOf(file), Object.keys(CALLS)).map(each => ({ file, ...each })),
    )
    expect(given.length).toBeGreaterThan(40)
    expect(given.filter(({ call, option }) => !isKnown(call, option))).toEqual([])
  })

  it.each(Object.keys(CALLS))('the check finds an option that %s no longer has', call => {
    expect(optionsIn(`${call}('mqtt://a', { clientId: f({ no: 1 }), // it's\n gone, "it's": 2 })`, [call])).toEqual([
      { call, option: 'clientId' },
      { call, option: 'gone' },
    ])
    expect(isKnown(call, 'gone')).toBe(false)
  })
})
