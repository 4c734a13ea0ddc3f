import { chmod, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { start } from './test-io.js'

const SERVE = ['serve', '--port', '0', '--ws-port', '0']

/** Returns the environment of a service with a program `systemd-notify` that prints its arguments. */
async function environment(): Promise<Record<string, string>> {
  const folder = temporaryFolder()
  const program = join(folder, 'systemd-notify')
  await writeFile(program, '#!/bin/sh\necho "notified $*"\n')
  await chmod(program, 0o755)
  return { NOTIFY_SOCKET: '/run/notify', PATH: `${folder}${delimiter}${process.env['PATH']}` }
}

describe('The notifications of systemd', () => {
  it('serve notifies systemd that it is ready, that it is alive, and that it stops', async () => {
    const env = { ...(await environment()), WATCHDOG_USEC: '40000' }
    const { stdout, interrupt, exit } = start(SERVE, { env })
    await stdout.line(/^listening/)
    await stdout.waitForLine('notified --ready')
    await eventually(() => stdout.lines.filter(line => line === 'notified WATCHDOG=1').length >= 3)
    interrupt()
    expect(await exit).toBe(0)
    await stdout.waitForLine('notified STOPPING=1')
  })

  it('serve has no watchdog if the watchdog is for another process', async () => {
    const env = { ...(await environment()), WATCHDOG_USEC: '40000', WATCHDOG_PID: '1' }
    const { stdout, interrupt, exit } = start(SERVE, { env })
    await stdout.waitForLine('notified --ready')
    interrupt()
    await exit
    await stdout.waitForLine('notified STOPPING=1')
    expect(stdout.text).not.toContain('WATCHDOG')
  })

  it('serve reports once that systemd-notify is missing, and continues', async () => {
    const env = { NOTIFY_SOCKET: '/run/notify', PATH: '/nowhere' }
    const { stderr, interrupt, exit } = start(SERVE, { env })
    await stderr.line(/^cannot notify systemd: spawn systemd-notify ENOENT$/)
    interrupt()
    expect(await exit).toBe(0)
    expect(stderr.lines.filter(line => line.startsWith('cannot notify'))).toHaveLength(1)
  })

  it('serve sends no notifications without a socket', async () => {
    const { NOTIFY_SOCKET: _, ...env } = await environment()
    const { stdout, interrupt, exit } = start(SERVE, { env })
    await stdout.line(/^listening/)
    interrupt()
    await exit
    expect(stdout.text).not.toContain('notified')
  })
})
