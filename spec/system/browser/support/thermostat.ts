import { join } from 'node:path'
import { filter, firstValueFrom, map } from 'rxjs'
import { expect, onTestFinished } from 'vitest'
import { number, type StateStore } from '../../../../src/client/index.js'
import { type StoreServer, serve } from '../../../../src/server/index.js'
import { freePort } from '../../../support/free-port.js'
import { type Link, layLink } from '../../../support/link.js'
import { openClient } from '../../../support/open-client.js'
import { RunningProgram } from '../../../support/running-program.js'
import { textOf } from '../../../support/words.js'

export const SET_POINT = 'thermostat1/setPoint'

/** The example as started by its command, with a store and a network that can be controlled. */
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

/** Starts the example in `folder`, and stops it at the end of the test. */
export async function startThermostat(folder: string): Promise<Thermostat> {
  const store = await serve({ port: await freePort(), wsPort: await freePort() })
  onTestFinished(async () => store.close())
  const written = writesTo(store)
  const link = await layLink(store.wsUrl)
  const client = openClient(store.url)
  const ws = link.url.replace('mqtt:', 'ws:')
  const url = await start(folder, ['--port', '0', '--store', store.url, '--ws', ws])
  // The room writes the initial set point.
  await firstValueFrom(client.key(SET_POINT, number).value$.pipe(filter(value => value !== undefined)))
  return { url, store, client, link, written }
}

export async function start(folder: string, options: readonly string[]): Promise<string> {
  const args = [join(folder, 'examples/thermostat/main.js'), ...options]
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
