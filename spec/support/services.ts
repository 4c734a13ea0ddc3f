import { spawnSync } from 'node:child_process'

/** Something a suite needs besides Node. */
export interface Service {
  readonly suite: string
  readonly needs: string
  readonly present: boolean
}

/** Debian's; another one by the variable. */
export const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

const answers = (command: string): boolean => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0

/** All suites that need more than Node. */
export const SERVICES = {
  rust: { suite: 'interop: the official Rust client', needs: 'cargo', present: answers('cargo') },
  chromium: { suite: 'browser: pages in a real browser', needs: 'chromium', present: answers(CHROMIUM) },
} as const satisfies Record<string, Service>

/** Names every suite that is left out; in CI nothing may be. */
export function setup(): void {
  for (const { suite, needs, present } of Object.values(SERVICES)) {
    if (present) continue
    const line = `left out: ${suite} (${needs} is not installed)`
    if (process.env['CI']) throw new Error(line)
    console.info(line)
  }
}
