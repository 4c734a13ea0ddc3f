import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { serve } from '../../src/standalone.js'
import { SERVICES } from '../support/services.js'

const run = promisify(execFile)
const ROOT = new URL('../..', import.meta.url).pathname
const CLIENT = join(ROOT, 'spec/interop/rust-client')
const BUILD_TIME = 600_000
const CHECKS = 15

describe.skipIf(!SERVICES.rust.present)('the official Rust client', () => {
  beforeAll(async () => {
    // Not below node_modules, which `npm ci` makes anew.
    await run('cargo', ['build', '--quiet', '--target-dir', join(CLIENT, 'target')], { cwd: CLIENT })
  }, BUILD_TIME)

  it.each(['registered', 'subscribed'] as const)(
    'works with the store, notifications to whoever is %s',
    async notifications => {
      await using store = await serve({ port: 0, wsPort: 0, notifications })
      const { stdout } = await run(join(CLIENT, 'target/debug/interop-rust'), [
        '--host',
        '127.0.0.1',
        '--port',
        new URL(store.url).port,
      ])
      const lines = stdout.trim().split('\n')
      expect(lines.filter(line => !line.startsWith('ok '))).toEqual([])
      expect(lines).toHaveLength(CHECKS)
    },
    70_000,
  )
})
