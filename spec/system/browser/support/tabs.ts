import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { temporaryFolder } from '../../../support/temporary-folder.js'

/** A full Chromium: Debian's headless build has no hidden tabs. Playwright would keep its tabs awake. */
const PROGRAM = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

/** Hidden tabs run the timers of timer chains once a minute after ten seconds instead of five minutes. */
const FLAGS = [
  '--headless=new',
  '--no-sandbox',
  '--no-first-run',
  '--remote-debugging-port=0',
  '--enable-features=IntensiveWakeUpThrottling:grace_period_seconds/10',
]

export interface Tab {
  /** Evaluates an expression, with a debugger that is only attached meanwhile: one that stays could change the throttling. */
  evaluate(expression: string): Promise<unknown>
  /** Sends a command of the DevTools protocol. Returns its result. */
  command(method: string, params: object): Promise<unknown>
}

export interface Chromium {
  readonly process: ChildProcess
  /** Opens a tab in front of the other ones. */
  openTab(url: string): Promise<Tab>
}

/** Starts a browser with its own process group. It ends with the test. */
export async function startChromium(): Promise<Chromium> {
  const child = spawn(PROGRAM, [...FLAGS, `--user-data-dir=${temporaryFolder()}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  onTestFinished(() => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  })
  let output = ''
  const address = await new Promise<string>((resolve, reject) => {
    child.once('error', reject)
    child.stderr.on('data', part => {
      output += part
      const [, found] = /DevTools listening on ws:\/\/([^/]+)/.exec(output) ?? []
      if (found !== undefined) resolve(found)
    })
  })
  const openTab = async (url: string): Promise<Tab> => {
    const response = await fetch(`http://${address}/json/new?${encodeURIComponent(url)}`, { method: 'PUT' })
    const { webSocketDebuggerUrl } = Object(await response.json())
    const command = (method: string, params: object): Promise<unknown> =>
      sendCommand(String(webSocketDebuggerUrl), method, params)
    return {
      command,
      evaluate: async expression => {
        const sent = await command('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true })
        return Object(Object(sent).result).value
      },
    }
  }
  return { process: child, openTab }
}

async function sendCommand(url: string, method: string, params: object): Promise<unknown> {
  const socket = new WebSocket(url)
  try {
    await once(socket, 'open')
    socket.send(JSON.stringify({ id: 1, method, params }))
    for (;;) {
      const [data] = await once(socket, 'message')
      const { id, result } = Object(JSON.parse(String(data)))
      if (id === 1) return result
    }
  } finally {
    socket.close()
  }
}
