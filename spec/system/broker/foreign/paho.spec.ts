import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { serve } from '../../../../src/server/index.js'

const run = promisify(execFile)
const PAHO = 'paho-mqtt==2.1.0'
const TARGET = new URL('../../../../node_modules/.cache/paho-2.1.0', import.meta.url).pathname
const CHECKS = 26

describe('paho-mqtt', () => {
  beforeAll(async () => {
    if (!existsSync(join(TARGET, 'paho'))) await run('pip', ['install', '--quiet', '--target', TARGET, PAHO])
  }, 120_000)

  it('supports the common features of the broker', async () => {
    await using store = await serve({ port: 0, wsPort: 0 })
    const program = new URL('paho_client.py', import.meta.url).pathname
    const { stdout } = await run('python3', [program, new URL(store.url).port], {
      env: { ...process.env, PYTHONPATH: TARGET },
    })
    const lines = stdout.trim().split('\n')
    expect(lines.filter(line => !line.startsWith('ok '))).toEqual([])
    expect(lines).toHaveLength(CHECKS)
  }, 60_000)
})
