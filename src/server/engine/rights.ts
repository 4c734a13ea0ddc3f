import type { Command } from '../../core/protocol/commands.js'
import type { Glob } from './glob.js'

/** What connections may do with keys. `C` stands for a connection. */
export interface KeyRights<C> {
  mayRead(connection: C, key: Uint8Array): boolean
  mayWrite(connection: C, key: Uint8Array): boolean
  /** The keys a connection may read: SCAN lists no others. */
  readable(connection: C): Glob
}

/**
 * Whether a connection may send a command: GET and KEYNOTIFY read, SET and DEL write, VDEL does both, as its answer tells
 * whether the value is the one asked for. To give up a watch needs no right, SCAN answers with the keys that may be read, and
 * GLOBNOTIFY tells of them alone.
 */
export function isAllowed<C>(rights: KeyRights<C>, connection: C, command: Command): boolean {
  if ('glob' in command || (command.verb === 'KEYNOTIFY' && command.stop)) return true
  const { verb, key } = command
  const reads = verb === 'GET' || verb === 'KEYNOTIFY' || verb === 'VDEL'
  const writes = verb === 'SET' || verb === 'DEL' || verb === 'VDEL'
  return (!reads || rights.mayRead(connection, key)) && (!writes || rights.mayWrite(connection, key))
}
