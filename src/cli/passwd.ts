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
import { attributeOption } from './flags.js'
import { addHelp } from './help.js'
import type { Io } from './io.js'

interface PasswdFlags {
  readonly attribute: Readonly<Record<string, string>>
  readonly delete?: true
}

const MAX_INPUT_BYTES = 4_096

const HELP = `
Reads the password from the first line of standard input, and saves its hash
(scrypt) in the file, which is created if missing. A store that runs with
--password-file reloads the file automatically.

Examples:
  $ rx-statestore passwd users panel < panel.secret
  $ rx-statestore passwd users sensor-7 --attribute building=17 < sensor.secret
  $ rx-statestore passwd users panel --delete`

export function addPasswd(program: Command, io: Io): void {
  const command = program.command('passwd').summary('set the password of a user')
  command.description('Sets the password of a user in the file of `serve --password-file`.')
  command.argument('<file>', 'password file').argument('<user>', 'name of the user')
  command.addOption(attributeOption('attribute for policies; repeatable'))
  command.option('--delete', 'remove the user')
  addHelp(command, io.stdout, { text: HELP })
  command.action(async (file: string, name: string) => setPassword(file, name, command.opts<PasswdFlags>(), io))
}

async function setPassword(file: string, name: string, flags: PasswdFlags, io: Io): Promise<void> {
  checkUserName(name)
  const users = new Map(usersOf(file))
  if (flags.delete) {
    if (!users.delete(name)) throw new Failure(EXIT.notMet, `no user ${name} in ${file}`)
  } else {
    const hash = await hashPassword(await firstLine(io))
    users.set(name, { name, hash, attributes: flags.attribute })
  }
  replaceFile(file, formatPasswordFile(users.values()))
}

/** Replaces the file atomically; a temporary file or link that was left there is removed first. */
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
    if (chunk.includes(10) || size > MAX_INPUT_BYTES) break
  }
  const [line = ''] = Buffer.concat(chunks).toString('latin1').split(/\r?\n/)
  return Buffer.from(line, 'latin1')
}
