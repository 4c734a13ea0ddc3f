import { createServer, type Socket } from 'node:net'
import { firstValueFrom } from 'rxjs'
import { onTestFinished } from 'vitest'
import { connect, type Entry, type StateStore, text } from '../../src/client/index.js'
import { listen } from '../support/listen.js'
import type { Running } from './test-io.js'

/** Limits the run time, so that a failed test leaves no process. */
const IDLE = 'setTimeout(() => {}, 60_000)'
/** A script that runs until a signal ends it, and says when it does. */
export const FOREVER = `${IDLE}; console.log("runs", process.pid)`
/** A script that prints the signals it gets, and continues. */
export const STUBBORN = `for (const s of ['SIGINT', 'SIGTERM']) process.on(s, () => console.log('got', s)); ${FOREVER}`

/** The words of a command that runs a script. */
export const node = (script: string): readonly string[] => ['--', process.execPath, '-e', script]

/** The process id that a script said. */
export const pidOf = async ({ stdout }: Running): Promise<number> => Number((await stdout.line(/^runs \d+$/)).slice(5))

/** Returns whether the process exists. */
export function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** A script that does nothing but start another one. */
export const starting = (script: string): string =>
  `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(script)}], { stdio: 'inherit' }); ${IDLE}`

/** A port and its first connection, which closes when the connected process ends for any reason. */
export async function openPort(): Promise<{ readonly port: number; readonly caller: Promise<Socket> }> {
  const server = createServer()
  const caller = new Promise<Socket>(resolve => {
    server.once('connection', socket => resolve(socket.on('error', () => undefined).resume()))
  })
  return { port: await listen(server), caller }
}

/** Another client of the store. */
export function openOther(url: string): StateStore {
  const store = connect(url)
  onTestFinished(async () => store.close())
  return store
}

/** What a lock key holds. */
export const lockOf = async (url: string, name = 'l'): Promise<Entry<string>> =>
  firstValueFrom(openOther(url).get(name, text))
