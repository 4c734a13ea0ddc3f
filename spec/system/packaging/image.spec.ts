import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Authority } from '../../../harness/certificates.js'
import { freePort } from '../../../harness/free-port.js'
import { type AuditEvent, firstOf, type ServeOptions, type StoreServer, serve } from '../../../src/server/index.js'
import { backwards } from '../../support/backwards.js'
import { ROOT } from '../../support/compile-package.js'
import { listen } from '../../support/listen.js'
import { record } from '../../support/open-client.js'

const lines = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8').replaceAll('\\\n', ' ').split('\n')
/** The last stage, which becomes the image. */
const last = lines.slice(lines.lastIndexOf('FROM node:22-slim'))

/** Runs the health check on a port and returns its exit code. */
async function health(port: string | number): Promise<number> {
  const check = spawn(process.execPath, [join(ROOT, 'deploy/health.mjs')], { env: { HEALTH_PORT: String(port) } })
  const [code] = await once(check, 'exit')
  return code
}

async function serving(options: ServeOptions = {}): Promise<StoreServer> {
  const store = await serve({ port: 0, wsPort: 0, ...options })
  onTestFinished(async () => store.close())
  return store
}

describe('The image', () => {
  it('its last stage installs nothing, keeps data in a volume, and is unprivileged and healthy', () => {
    expect(last.filter(line => /npm|node_modules/.test(line))).toEqual([])
    for (const line of ['USER node', 'VOLUME /data', 'ENTRYPOINT ["node", "/app/dist/cli/main.js"]'])
      expect(last).toContain(line)
    expect(last.find(line => line.startsWith('HEALTHCHECK '))).toContain('/app/health.mjs')
    const copied = last.flatMap(line => /^COPY (?!--from)(\S+)/.exec(line)?.[1] ?? [])
    expect(copied.filter(file => !existsSync(join(ROOT, file)))).toEqual([])
  })

  it('is healthy with TLS and users, without a line in the audit log', async () => {
    const tls = new Authority('/CN=Plant').issue('/CN=store')
    const store = await serving({ authenticate: firstOf([backwards()]), policy: '[]', tls })
    const audit = record<AuditEvent>(store.audit$)
    expect(await health(new URL(store.wsUrl).port)).toBe(0)
    expect(audit.values).toEqual([])
    const plain = await serving()
    expect(await health(new URL(plain.wsUrl).port)).toBe(0)
  })

  it('is unhealthy when nothing listens, and when the listener does not respond', async () => {
    expect(await health(await freePort())).toBe(1)
    const silent = createServer({ allowHalfOpen: true }, () => undefined)
    expect(await health(await listen(silent))).toBe(1)
  })
})
