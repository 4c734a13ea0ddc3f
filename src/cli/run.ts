import { Command, CommanderError } from 'commander'
import { reason } from '../core/util/errors.js'
import { packageVersion } from '../node/package-files.js'
import { withoutCredentials } from './credentials.js'
import { EXIT, type ExitCode, exitCodeOf, monitoringExitOf, referenceOf } from './failure.js'
import { addConnectionFlags } from './flags.js'
import { addHelp, HELP_CONFIGURATION, helpWidth } from './help.js'
import type { Io } from './io.js'
import { colorsFor, oneLine } from './terminal.js'

const NAME = 'rx-statestore'

const HELP = `
Exit codes: 0 done, 1 failed, 2 usage, 3 condition not met or no such key, 4
lock lost, 5 recovered in part. Data is printed to stdout, messages to stderr.
Run '${NAME} <command> --help' for options and examples.

Example:
  $ ${NAME} serve &
  $ ${NAME} set thermostat1/setPoint 21.5
  $ ${NAME} watch thermostat1/setPoint`

/** Flags that are answered without loading a command, because scripts use them to detect the program. */
const VERSION_FLAGS = ['--version', '-V']

/** Runs the command line with its arguments, without the program's name. Resolves to the exit code. */
export async function run(args: readonly string[], io: Io): Promise<ExitCode> {
  const program = programOf(io, await commandsFor(args))
  // The value of a flag before the command may be a word that is also a command's name.
  let dispatched: string | undefined
  program.hook('preSubcommand', (_, command) => {
    dispatched = command.name()
  })
  try {
    if (args.length === 0) program.error('missing command')
    await program.parseAsync(args, { from: 'user' })
    return EXIT.done
  } catch (error) {
    const command = dispatched ?? commandIn(args, program)
    return failed(withFlagFor(error, program, command), command, io)
  }
}

function programOf(io: Io, commands: readonly Add[]): Command {
  const program = new Command(NAME)
  program.description(
    'State store over MQTT 5: run one, read, write, list, watch, save and restore keys, run commands under a lock.',
  )
  program.version(packageVersion()).enablePositionalOptions().exitOverride()
  program.configureHelp(HELP_CONFIGURATION)
  program.configureOutput({
    writeOut: text => void io.stdout.write(text),
    outputError: () => undefined,
    getOutHelpWidth: () => helpWidth(io.stdout),
  })
  addConnectionFlags(program, true)
  for (const add of commands) add(program, io)
  addHelp(program, io.stdout, { text: HELP })
  return program
}

function failed(error: unknown, command: string | undefined, io: Io): ExitCode {
  // The reader of a pipe, such as `head`, has exited.
  if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return EXIT.done
  const isUsage = error instanceof CommanderError
  if (isUsage && error.exitCode === 0) return EXIT.done
  const code = isUsage ? EXIT.usage : exitCodeOf(error)
  const message = reason(error).trim().replaceAll('\n', ' ')
  // Commander adds a prefix and a full stop, which are removed.
  const line =
    code === EXIT.usage
      ? `${message.replace(/^error: |\.$/g, '')}; see ${helpOf(command)}`
      : `${message}${referenceOf(error)}`
  if (message !== '')
    io.stderr.write(`${colorsFor(io.stderr, io.env).red(`${NAME}:`)} ${oneLine(withoutCredentials(line))}\n`)
  return command === 'probe' ? monitoringExitOf(error, code) : code
}

/** The flags that have the names of the protocol, by the names of the library's options. */
const FLAGS_BY_OPTION: ReadonlyMap<string, string> = new Map([
  ['--expires-in', '--px'],
  ['--if-absent', '--nx'],
  ['--if-absent-or-equal', '--nex'],
])

/** Adds the flag that was probably meant to the error for a flag with the name of an option of the library. */
function withFlagFor(error: unknown, program: Command, command: string | undefined): unknown {
  if (!(error instanceof CommanderError) || error.code !== 'commander.unknownOption') return error
  const flag = FLAGS_BY_OPTION.get(/'(--[a-z-]+)/.exec(error.message)?.[1] ?? '')
  const { options = [] } = program.commands.find(candidate => candidate.name() === command) ?? {}
  if (flag === undefined || !options.some(({ long }) => long === flag)) return error
  return new CommanderError(error.exitCode, error.code, `${error.message}\n(Did you mean ${flag}?)`)
}

const helpOf = (command: string | undefined): string =>
  [NAME, command, '--help'].filter(word => word !== undefined).join(' ')

const commandIn = (args: readonly string[], program: Command): string | undefined =>
  args.find(arg => program.commands.some(candidate => candidate.name() === arg))

export type Add = (program: Command, io: Io) => void

/** The commands are loaded on demand, so that starting one does not load the dependencies of others. */
const COMMANDS = {
  serve: async () => (await import('./serve.js')).addServe,
  attach: async () => (await import('./attach.js')).addAttach,
  get: async () => (await import('./get.js')).addGet,
  set: async () => (await import('./set.js')).addSet,
  del: async () => (await import('./del.js')).addDel,
  vdel: async () => (await import('./del.js')).addVdel,
  keys: async () => (await import('./keys.js')).addKeys,
  dump: async () => (await import('./dump.js')).addDump,
  load: async () => (await import('./load.js')).addLoad,
  check: async () => (await import('./check.js')).addCheck,
  recover: async () => (await import('./recover.js')).addRecover,
  watch: async () => (await import('./watch.js')).addWatch,
  retained: async () => (await import('./retained.js')).addRetained,
  probe: async () => (await import('./probe.js')).addProbe,
  status: async () => (await import('./status.js')).addStatus,
  completion: async () => (await import('./completion.js')).addCompletion,
  lock: async () => (await import('./lock.js')).addLock,
  passwd: async () => (await import('./passwd.js')).addPasswd,
  policy: async () => (await import('./policy.js')).addPolicy,
} as const satisfies Record<string, () => Promise<Add>>

/**
 * Loads the commands that the arguments may name: all commands if the arguments are ambiguous, for instance for
 * `--help`, a misspelt command or `completion`.
 */
export async function commandsFor(args: readonly string[]): Promise<readonly Add[]> {
  const named = new Set(args.filter(word => Object.hasOwn(COMMANDS, word)))
  const [first = ''] = args
  if (args.length === 1 && VERSION_FLAGS.includes(first)) return []
  const isClear = named.size > 0 && (first.startsWith('-') || named.has(first)) && !named.has('completion')
  return Promise.all(Object.entries(COMMANDS).flatMap(([name, load]) => (!isClear || named.has(name) ? [load()] : [])))
}
