import { join } from 'node:path'
import { filter, firstValueFrom, map } from 'rxjs'
import { beforeAll, expect, onTestFinished } from 'vitest'
import { freePort } from '../../../../harness/free-port.js'
import { number, type StateStore } from '../../../../src/client/index.js'
import { type StoreServer, serve } from '../../../../src/server/index.js'
import { Link } from '../../../support/link.js'
import { openClient } from '../../../support/open-client.js'
import { RunningProgram } from '../../../support/running-program.js'
import { textOf } from '../../../support/words.js'
import { builtPackage } from './package.js'

export const SET_POINT = 'thermostat1/setPoint'

/** The page and the room of the example, with a store and a network that can be controlled. */
export interface Thermostat {
  /** The URL of the page. */
  readonly url: string
  readonly store: StoreServer
  readonly client: StateStore
  /** The link between the pages and the store. The room connects directly. */
  readonly link: Link
  /** The values that any client has written to the set point so far. */
  readonly written: readonly number[]
}

/** The functions of the example that its command calls. */
interface Example {
  openSite(options: { host: string; port: number; wsUrl: string }): Promise<{ port: number; close(): Promise<void> }>
  startRoom(url: string): { stop(): Promise<void> }
}

/**
 * Serves the page to all tests of a suite, because building the page takes longer than most tests. The returned
 * function starts a store and a room, and stops them at the end of the test.
 */
export function serveThermostat(): () => Promise<Thermostat> {
  let shared: { readonly url: string; readonly link: Link; readonly startRoom: Example['startRoom'] } | undefined
  beforeAll(async () => {
    const importPart = (file: string) => import(join(builtPackage(), 'examples/thermostat', file))
    const [{ openSite }, { startRoom }]: [Example, Example] = [await importPart('site.js'), await importPart('room.js')]
    const link = new Link(0)
    await link.listen()
    const site = await openSite({ host: '127.0.0.1', port: 0, wsUrl: link.url.replace('mqtt:', 'ws:') })
    shared = { url: `http://127.0.0.1:${site.port}/`, link, startRoom }
    return async () => {
      await site.close()
      await link.close()
    }
  })
  return async () => {
    if (shared === undefined) throw new Error('The page is served to tests, not while they are collected')
    const { url, link, startRoom } = shared
    const store = await serve({ port: await freePort(), wsPort: await freePort() })
    onTestFinished(async () => store.close())
    const written = writesTo(store)
    link.restore()
    link.redirect(store.wsUrl)
    const client = openClient(store.url)
    const room = startRoom(store.url)
    onTestFinished(() => room.stop())
    // The room writes the initial set point.
    await firstValueFrom(client.key(SET_POINT, number).value$.pipe(filter(value => value !== undefined)))
    return { url, store, client, link, written }
  }
}

/** Starts the example with its command, and stops it at the end of the test. Returns the URL of the page. */
export async function start(options: readonly string[]): Promise<string> {
  const args = [join(builtPackage(), 'examples/thermostat/main.js'), '--port', '0', ...options]
  const program = new RunningProgram(process.execPath, args, { env: { PATH: process.env['PATH'] } })
  const complaints: string[] = []
  program.child.stderr?.on('data', data => complaints.push(String(data)))
  onTestFinished(async () => {
    await program.end('SIGTERM')
    expect({ code: program.child.exitCode, complaints }).toEqual({ code: 0, complaints: [] })
  })
  const [url = ''] = /http:\/\/\S+\//.exec(await program.line(/http:\/\/\S+\//)) ?? []
  return url
}

function writesTo(store: StoreServer): readonly number[] {
  const written: number[] = []
  const words$ = store.requests$.pipe(map(({ payload }) => textOf(payload).split('\r\n')))
  words$.subscribe(([, , verb, , key, , value]) => {
    if (verb === 'SET' && key === SET_POINT) written.push(Number(value))
  })
  return written
}
