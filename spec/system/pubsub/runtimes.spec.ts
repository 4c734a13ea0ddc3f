import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { nightly } from '../../support/effort.js'
import { runtimeOf } from '../../support/services.js'

const run = promisify(execFile)
const ROOT = new URL('../../..', import.meta.url).pathname
const VITEST = ['node_modules/vitest/vitest.mjs', 'run', '--reporter=json']
const SPECS = ['spec/pubsub/client', 'spec/pubsub/behaviours', 'spec/pubsub/hub']
/** The timeout in ms, which allows for a busy machine. */
const TIMEOUT_MS = 300_000

// The outer run uses the installed Node, version 20 or later. The gate runs the package under Node 22 as well, in
// `packaging.spec.ts`.
describe('the specs of the pub/sub client and hub', () => {
  it.each(nightly([22, 24], [24]))('the specs pass under Node %i', { timeout: TIMEOUT_MS }, async version => {
    const node = runtimeOf(version)
    expect((await run(node, ['--version'])).stdout).toMatch(new RegExp(`^v${version}\\.`))
    // The coverage and the console output of the inner run are not needed.
    const { CI: _, ...env } = process.env
    const options = { cwd: ROOT, env, maxBuffer: 64 * 1024 * 1024 }
    const { stdout } = await run(node, [...VITEST, ...SPECS], options).catch(failure => failure)
    const report = JSON.parse(stdout.slice(stdout.indexOf('{"')))
    expect(failuresOf(report)).toEqual([])
    expect(report.numPassedTests).toBeGreaterThan(300)
  })
})

function failuresOf({ testResults }: { readonly testResults: readonly FileResult[] }): string[] {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const failed = assertionResults.filter(test => test.status === 'failed')
    const told = failed.map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages.join('\n')}`)
    return status === 'failed' && told.length === 0 ? [`${name}: ${message}`] : told
  })
}

interface FileResult {
  readonly name: string
  readonly status: string
  readonly message: string
  readonly assertionResults: readonly {
    readonly status: string
    readonly fullName: string
    readonly failureMessages: readonly string[]
  }[]
}
