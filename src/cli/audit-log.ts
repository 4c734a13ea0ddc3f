import { accessSync, appendFileSync, chmodSync, closeSync, constants, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Observable, Subscription } from 'rxjs'
import { reason } from '../core/util/errors.js'
import type { OptionKind } from '../core/util/options.js'
import type { AuditEvent } from '../server/index.js'
import type { EventLog } from './event-log.js'
import { EXIT, Failure } from './failure.js'
import type { Io } from './io.js'
import { jsonLine } from './json.js'

/** The path of a file, or `true` for stderr. */
type AuditTarget = string | true

/** The kind of the option `--audit`. */
export const auditTarget: OptionKind<AuditTarget> = {
  sign: '[file]',
  expected: 'the path of a file, or true for stderr',
  schema: { type: ['string', 'boolean'] },
  is: (value): value is AuditTarget => value === true || (typeof value === 'string' && value !== ''),
  read: value => value === 'true' || value,
}

const OWNER_ONLY = 0o600

/** Throws {@link Failure} if the file of an audit log can be neither written nor created. Changes nothing. */
export function checkAuditLog(target: AuditTarget | undefined): void {
  if (typeof target !== 'string') return
  orFailure(() => {
    const stats = statSync(target, { throwIfNoEntry: false })
    if (stats?.isDirectory()) throw new Error(`${target} is a directory`)
    // Because of the trailing slash, the system rejects a file in place of the directory.
    accessSync(stats === undefined ? `${dirname(target)}/` : target, constants.W_OK)
  })
}

/** Creates the file of an audit log, or makes it private. Throws {@link Failure} if the file cannot be written. */
export function prepareAuditLog(target: AuditTarget | undefined, log: EventLog): void {
  checkAuditLog(target)
  // A device or pipe keeps its access rights, and opening a pipe would wait for a reader.
  if (typeof target !== 'string' || statSync(target, { throwIfNoEntry: false })?.isFile() === false) return
  orFailure(() => closeSync(openSync(target, 'a', OWNER_ONLY)))
  try {
    chmodSync(target, OWNER_ONLY)
  } catch (error) {
    log.write('warn', 'audit', `warning: other users may be able to read ${target}: ${reason(error)}`)
  }
}

function orFailure(task: () => void): void {
  try {
    task()
  } catch (cause) {
    throw new Failure(EXIT.usage, `cannot write the file of --audit: ${reason(cause)}`, { cause })
  }
}

/**
 * Writes an audit log with one line of JSON per event. Each event opens the file, so that the next event after a
 * rotation creates a new file. The event log reports failures.
 */
export function writeAuditLog(
  events$: Observable<AuditEvent>,
  target: AuditTarget,
  { stderr }: Pick<Io, 'stderr'>,
  log: EventLog,
): Subscription {
  return events$.subscribe(event => {
    const line = jsonLine(event)
    try {
      if (target === true) stderr.write(line)
      else appendFileSync(target, line, { mode: OWNER_ONLY })
    } catch (error) {
      log.write('error', 'audit', `cannot write the audit log: ${reason(error)}`)
    }
  })
}
