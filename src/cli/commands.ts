import type { Command } from 'commander'
import type { Io } from './io.js'

/** Adds a command to the program. */
export type Add = (program: Command, io: Io) => void

/** Whatever one command needs, a broker say, costs the start of no other: each is loaded when it is asked for. */
const COMMANDS = {
  serve: async () => (await import('./serve.js')).addServe,
  attach: async () => (await import('./attach.js')).addAttach,
  get: async () => (await import('./get.js')).addGet,
  set: async () => (await import('./set.js')).addSet,
  del: async () => (await import('./del.js')).addDel,
  vdel: async () => (await import('./vdel.js')).addVdel,
  keys: async () => (await import('./keys.js')).addKeys,
  dump: async () => (await import('./dump.js')).addDump,
  load: async () => (await import('./load.js')).addLoad,
  check: async () => (await import('./check.js')).addCheck,
  recover: async () => (await import('./recover.js')).addRecover,
  watch: async () => (await import('./watch.js')).addWatch,
  bridge: async () => (await import('./bridge.js')).addBridge,
  status: async () => (await import('./status.js')).addStatus,
  completion: async () => (await import('./completion.js')).addCompletion,
  lock: async () => (await import('./lock.js')).addLock,
  passwd: async () => (await import('./passwd.js')).addPasswd,
  policy: async () => (await import('./policy.js')).addPolicy,
} as const satisfies Record<string, () => Promise<Add>>

/**
 * The commands that arguments may be about: all of them where that cannot be told, as for `--help` and a word that is
 * misspelt, and for completions, which know all.
 */
export async function commandsFor(args: readonly string[]): Promise<readonly Add[]> {
  const named = new Set(args.filter(word => Object.hasOwn(COMMANDS, word)))
  const [first = ''] = args
  const isClear = named.size > 0 && (first.startsWith('-') || named.has(first)) && !named.has('completion')
  return Promise.all(Object.entries(COMMANDS).flatMap(([name, load]) => (!isClear || named.has(name) ? [load()] : [])))
}
