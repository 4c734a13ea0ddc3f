import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { reason } from '../core/util/errors.js'
import {
  checkUserName,
  formatPasswordFile,
  hashPassword,
  parsePasswordFile,
  type User,
} from '../server/access/passwords.js'
import { EXIT, Failure } from './failure.js'
import { attribute } from './flags.js'
import type { Io } from './io.js'

interface PasswdFlags {
  readonly attribute: Readonly<Record<string, string>>
  readonly delete?: true
}

/** bytes */
const LONGEST_INPUT = 4_096

const HELP = `
Reads the password from standard input, up to the end of the line, and keeps a hash of it (scrypt) in the file, which
is made if there is none. A store that serves with --password-file takes the change over by itself.

Examples:
  $ rx-statestore passwd users panel < panel.secret
  $ rx-statestore passwd users sensor-7 --attribute building=17 < sensor.secret
  $ rx-statestore passwd users panel --delete`

/** Adds `passwd FILE USER`. */
export function addPasswd(program: Command, io: Io): void {
  const command = program.command('passwd').summary('set the password of a user')
  command.description('Sets the password of a user in the file of `serve --password-file`.')
  command.argument('<file>', 'password file').argument('<user>', 'name of the user')
  command.option('--attribute <name=value>', 'what a policy can ask for; may be given several times', attribute, {})
  command.option('--delete', 'remove the user')
  command.addHelpText('after', HELP)
  command.action(async (file: string, name: string) => setPassword(file, name, command.opts<PasswdFlags>(), io))
}

async function setPassword(file: string, name: string, flags: PasswdFlags, io: Io): Promise<void> {
  checkUserName(name)
  const users = new Map(usersOf(file))
  if (flags.delete) {
    if (!users.delete(name)) throw new Failure(EXIT.notMet, `there is no user ${name} in ${file}`)
  } else {
    const hash = await hashPassword(await firstLine(io))
    users.set(name, { name, hash, attributes: flags.attribute })
  }
  replaceFile(file, formatPasswordFile(users.values()))
}

/** A reader meanwhile has the file before or the one after; of a name that was left there, or laid there, nothing is kept. */
function replaceFile(file: string, text: string): void {
  rmSync(`${file}.new`, { force: true })
  writeFileSync(`${file}.new`, text, { mode: 0o600, flag: 'wx' })
  renameSync(`${file}.new`, file)
}

function usersOf(file: string): ReadonlyMap<string, User> {
  try {
    return parsePasswordFile(readFileSync(file, 'utf8'))
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return new Map()
    throw new Failure(EXIT.failed, `${file}: ${reason(cause)}`, { cause })
  }
}

async function firstLine(io: Io): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of io.stdin) {
    chunks.push(chunk)
    size += chunk.length
    if (chunk.includes(10) || size > LONGEST_INPUT) break
  }
  const [line = ''] = Buffer.concat(chunks).toString('latin1').split(/\r?\n/)
  return Buffer.from(line, 'latin1')
}
