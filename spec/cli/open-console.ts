import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Clock } from '../../src/core/util/clock.js'
import { ConsoleServer } from '../../src/server/console/console-server.js'
import type { ServeOptions, StoreServer } from '../../src/server/index.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { openStore } from './test-io.js'

/** Opens a store with a console. Both close at the end of the test. @param clock - the clock of the console's samples */
export async function openConsole(
  options: ServeOptions = {},
  clock?: Clock,
): Promise<{ readonly store: StoreServer; readonly server: ConsoleServer; readonly link: string }> {
  const store = await openStore(options)
  const server = await ConsoleServer.start(store, { host: '127.0.0.1', port: 0, seed: undefined, version: '', clock })
  onTestFinished(async () => server.close())
  return { store, server, link: server.link }
}

/** Returns a path in a new folder, which is removed at the end of the test. */
export async function scratch(name: string): Promise<string> {
  const folder = temporaryFolder()
  return join(folder, name)
}
