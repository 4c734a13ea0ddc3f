import { appendFileSync, chmodSync, statSync } from 'node:fs'
import type { Observable, Subscription } from 'rxjs'
import { reason } from '../core/util/errors.js'
import type { AuditEvent } from '../server/index.js'
import type { Io } from './io.js'
import { jsonLine } from './json.js'

/**
 * Keeps a record, a line of JSON for each event. What cannot be written is told on stderr.
 *
 * @param file - `true` for stderr
 */
export function record(events$: Observable<AuditEvent>, file: string | true, io: Io): Subscription {
  if (typeof file === 'string') close(file, io)
  return events$.subscribe(event => write(file, jsonLine(event), io))
}

/** A record that was there before may be for everybody to read; a device is left as it is. */
function close(path: string, io: Io): void {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFile()) chmodSync(path, 0o600)
  } catch (error) {
    io.stderr.write(`warning: others may read ${path}: ${reason(error)}\n`)
  }
}

function write(file: string | true, line: string, io: Io): void {
  try {
    if (file === true) io.stderr.write(line)
    else appendFileSync(file, line, { mode: 0o600 })
  } catch (error) {
    io.stderr.write(`cannot keep the record: ${reason(error)}\n`)
  }
}
