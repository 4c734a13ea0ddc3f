import { getHeapStatistics } from 'node:v8'
import { describe, expect, it } from 'vitest'
import { warnBeyondHeap } from '../../src/cli/heap-warning.js'
import type { QuotaOptions } from '../../src/server/host/quotas.js'
import { execute, start } from './test-io.js'

const MIB = 1024 * 1024
const TOO_MUCH = String(2 * getHeapStatistics().heap_size_limit)

function warningsOf(options: Pick<QuotaOptions, 'maxMemory' | 'maxBytes'>): readonly string[] {
  const messages: string[] = []
  warnBeyondHeap(options, { write: (_level, _event, message) => void messages.push(message) }, 1024 * MIB)
  return messages
}

describe('The warning about the heap limit', () => {
  it('names the option, the heap limit and a sufficient flag of Node', () => {
    expect(warningsOf({ maxMemory: 4096 * MIB })).toEqual([
      'warning: --max-memory 4294967296 exceeds the heap limit of Node (1024 MiB), at which the store crashes instead of ' +
        'rejecting writes: start it with node --max-old-space-size=4096, or lower --max-memory',
    ])
    expect(warningsOf({ maxBytes: 1024 * MIB + 1 })).toEqual([
      expect.stringMatching(/--max-bytes .*--max-old-space-size=1025/),
    ])
  })

  it('is not given for the default and for a limit that the heap can hold', () => {
    for (const options of [{}, { maxMemory: 1024 * MIB }, { maxBytes: 1 }]) expect(warningsOf(options)).toEqual([])
  })

  it.each(['serve', 'attach'])('is printed once by %s --check-config', async command => {
    const args = command === 'serve' ? ['--max-memory', TOO_MUCH] : ['--max-bytes', TOO_MUCH, '--url', 'mqtt://b']
    const { code, stderr } = await execute([command, '--check-config', ...args])
    expect([code, stderr.match(/exceeds the heap limit of Node/g)]).toMatchObject([0, { length: 1 }])
  })

  it('is printed once by serve, which starts', async () => {
    const { stdout, stderr, exit, interrupt } = start([
      'serve',
      ...['--port', '0', '--ws-port', '0', '--max-memory', TOO_MUCH],
    ])
    await stdout.line(/^listening on /)
    interrupt()
    expect(await exit).toBe(0)
    expect(stderr.lines).toEqual([expect.stringMatching(/exceeds the heap limit of Node/), 'stopped'])
  })
})
