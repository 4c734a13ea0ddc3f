import { createServer, type Socket } from 'node:net'
import { firstValueFrom } from 'rxjs'
import { onTestFinished } from 'vitest'
import { connect, type Entry, type StateStore, text } from '../../src/client/index.js'
import { listen } from '../support/listen.js'
import type { Running } from './test-io.js'

/** Keeps a script running, but for a limited time, so that a failed test leaves no process behind. */
const IDLE = 'setTimeout(() => {}, 60_000)'
/** A script that runs until a signal ends it. It first prints its process id. */
export const FOREVER = `${IDLE}; console.log("runs", process.pid)`
/** A script that prints the signals that it receives, and continues. */
export const STUBBORN = `for (const s of ['SIGINT', 'SIGTERM']) process.on(s, () => console.log('got', s)); ${FOREVER}`

/** Returns the arguments of a command that runs a script. */
export const node = (script: string): readonly string[] => ['--', process.execPath, '-e', script]

/** Returns the process id that a script printed. */
export const pidOf = async ({ stdout }: Running): Promise<number> => Number((await stdout.line(/^runs \d+$/)).slice(5))

/** Returns whether the process exists. */
export function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Returns a script that only starts another script. */
export const starting = (script: string): string =>
  `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(script)}], { stdio: 'inherit' }); ${IDLE}`

/** Opens a port. Returns it with its first connection, which closes when the connected process ends for any reason. */
export async function openPort(): Promise<{ readonly port: number; readonly caller: Promise<Socket> }> {
  const server = createServer()
  const caller = new Promise<Socket>(resolve => {
    server.once('connection', socket => resolve(socket.on('error', () => undefined).resume()))
  })
  return { port: await listen(server), caller }
}

/** Opens another client of the store. */
export function openOther(url: string): StateStore {
  const store = connect(url)
  onTestFinished(async () => store.close())
  return store
}

/** Returns the entry of a lock key. */
export const lockOf = async (url: string, name = 'l'): Promise<Entry<string>> =>
  firstValueFrom(openOther(url).get(name, text))
