import { unwatchFile, watchFile } from 'node:fs'
import type { Subscription } from 'rxjs'
import { reason } from '../core/util/errors.js'
import type { EventLog } from './event-log.js'
import type { Io } from './io.js'
import { named } from './login-methods.js'

const FILE_POLL_INTERVAL_MS = 1_000

/** The functions that read files again, by the path of the file. They throw if the content is invalid. */
export type Reloads = ReadonlyMap<string, () => void>

/** Reads each file again when it changes, and all of them on SIGHUP. The log reports each result. */
export function reloadFiles(reloads: Reloads, { hangUp$ }: Pick<Io, 'hangUp$'>, log: EventLog): Subscription {
  const subscription = hangUp$.subscribe(() => {
    for (const [path, reload] of reloads) reloadFile(path, reload, log)
  })
  for (const [path, reload] of reloads) {
    const changed = (): void => reloadFile(path, reload, log)
    watchFile(path, { interval: FILE_POLL_INTERVAL_MS, persistent: false }, changed)
    subscription.add(() => unwatchFile(path, changed))
  }
  return subscription
}

function reloadFile(path: string, reload: () => void, log: EventLog): void {
  try {
    named(path, reload)
    log.write('info', 'reload', `reloaded ${path}`)
  } catch (error) {
    log.write('error', 'reload', `${reason(error)}; the previous content stays in effect`)
  }
}
