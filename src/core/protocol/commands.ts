import type { Hlc } from '../hlc/hlc.js'
import { encodeArray } from '../resp3/encode.js'
import { utf8 } from '../util/bytes.js'

/**
 * The condition of a SET. `NX`: only if the key does not exist. `NEX`: only if the key does not exist or holds
 * `comparand`, by default the new value. `IFVER`: only if the key exists with exactly this version; an extension of
 * this store, to which other stores reply `syntax error`.
 */
export type SetCondition =
  | { readonly type: 'NX' }
  | { readonly type: 'NEX'; readonly comparand: Uint8Array | undefined }
  | { readonly type: 'IFVER'; readonly version: Hlc }

export interface SetCommand {
  readonly verb: 'SET'
  readonly key: Uint8Array
  readonly value: Uint8Array
  readonly condition: SetCondition | undefined
  /** Time to live, ms. */
  readonly px: number | undefined
}

export interface KeynotifyCommand {
  readonly verb: 'KEYNOTIFY'
  readonly key: Uint8Array
  readonly stop: boolean
}

/**
 * Watches all readable keys that match a glob, as KEYNOTIFY does for a single key. An extension of this store. Other
 * stores reply `unknown command`, by which a client recognises them.
 */
export interface GlobnotifyCommand {
  readonly verb: 'GLOBNOTIFY'
  readonly glob: Uint8Array
  readonly stop: boolean
}

/**
 * Lists the keys that match a glob, from the token of the previous page if there is one. Undocumented, but supported in
 * the field.
 */
export interface ScanCommand {
  readonly verb: 'SCAN'
  readonly glob: Uint8Array
  readonly token: Uint8Array | undefined
}

export type KeyCommand = Exclude<Command, ScanCommand | GlobnotifyCommand>

/** A request of the state store protocol ("Request format" and "KEYNOTIFY request message"), SCAN, or GLOBNOTIFY. */
export type Command =
  | SetCommand
  | { readonly verb: 'GET'; readonly key: Uint8Array }
  | { readonly verb: 'DEL'; readonly key: Uint8Array }
  | { readonly verb: 'VDEL'; readonly key: Uint8Array; readonly value: Uint8Array }
  | KeynotifyCommand
  | GlobnotifyCommand
  | ScanCommand

export type WriteCommand = Extract<Command, { verb: 'SET' | 'DEL' | 'VDEL' }>

const VERBS = {
  SET: utf8('SET'),
  GET: utf8('GET'),
  DEL: utf8('DEL'),
  VDEL: utf8('VDEL'),
  KEYNOTIFY: utf8('KEYNOTIFY'),
  GLOBNOTIFY: utf8('GLOBNOTIFY'),
  SCAN: utf8('SCAN'),
}

export function encodeCommand(command: Command): Uint8Array {
  const subject = 'glob' in command ? command.glob : command.key
  return encodeArray([VERBS[command.verb], subject, ...argumentsOf(command)])
}

function argumentsOf(command: Command): Uint8Array[] {
  switch (command.verb) {
    case 'SET':
      return [command.value, ...conditionOf(command.condition), ...expiryOf(command.px)]
    case 'VDEL':
      return [command.value]
    case 'KEYNOTIFY':
    case 'GLOBNOTIFY':
      return command.stop ? [utf8('STOP')] : []
    case 'SCAN':
      return command.token === undefined ? [] : [command.token]
    default:
      return []
  }
}

function conditionOf(condition: SetCondition | undefined): Uint8Array[] {
  if (condition === undefined) return []
  if (condition.type === 'IFVER') return [utf8('IFVER'), utf8(String(condition.version))]
  if (condition.type === 'NX' || condition.comparand === undefined) return [utf8(condition.type)]
  return [utf8('NEX'), condition.comparand]
}

const expiryOf = (px: number | undefined): Uint8Array[] => (px === undefined ? [] : [utf8('PX'), utf8(String(px))])

export interface KeyName {
  readonly bytes: Uint8Array
  /** The bytes in Base16, which are unique. */
  readonly id: string
  readonly text: string
}
