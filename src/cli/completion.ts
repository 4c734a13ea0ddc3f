import { Argument, type Command, type Option } from 'commander'
import { addHelp } from './help.js'
import { type Io, print } from './io.js'

const HELP = `
Completes commands, flags, and values that are files, directories or one of a
few words. Add the line for your shell to its start file:

Examples:
  $ eval "$(rx-statestore completion bash)"   # ~/.bashrc
  $ eval "$(rx-statestore completion zsh)"    # ~/.zshrc, after compinit
  $ rx-statestore completion zsh > ~/.rx-statestore.zsh   # or once, then source it`

export function addCompletion(program: Command, io: Io): void {
  const command = program.command('completion').summary('print completions for a shell')
  command.description('Prints a script that completes commands and flags with the tab key.')
  command.addArgument(new Argument('<shell>', 'shell').choices(Object.keys(TAKE)))
  addHelp(command, io.stdout, { text: HELP })
  command.action(async (shell: keyof typeof TAKE) => print(io.stdout, scriptOf(tableOf(program), shell)))
}

/** The candidates for a value. */
type Values = 'none' | 'any' | 'file' | 'directory' | readonly string[]

/** The data of a flag that shells need to complete it. */
interface Flag {
  readonly names: readonly string[]
  readonly values: Values
}

/** The data of a command that shells need to complete it. */
interface CompletionEntry {
  readonly name: string
  readonly flags: readonly Flag[]
  /** The candidates for every argument. */
  readonly values: Values
  readonly commands: readonly CompletionEntry[]
}

const HELP_FLAG: Flag = { names: ['-h', '--help'], values: 'none' }

function tableOf(command: Command): CompletionEntry {
  const commands = command.commands.map(tableOf)
  return {
    name: command.name(),
    flags: [...command.options.map(flagOf), HELP_FLAG],
    values: argumentValues(command.registeredArguments),
    commands,
  }
}

const flagOf = ({ short, long, argChoices, required, flags }: Option): Flag => ({
  names: [short, long].filter(name => name !== undefined),
  // A flag with an optional value is treated as a flag without a value; otherwise the next word would be taken for the
  // value.
  values: required ? (argChoices ?? byName(flags)) : 'none',
})

function argumentValues(all: readonly Argument[]): Values {
  const known = all.map(argument => argument.argChoices ?? byName(`<${argument.name()}>`))
  return known.find(values => values !== 'any') ?? (all.length > 0 ? 'any' : 'none')
}

function byName(text: string): Values {
  if (text.includes('<file>') || text === '<command>') return 'file'
  return text.includes('<dir>') ? 'directory' : 'any'
}

/** The commands that read the output of `compgen` line by line, because file names may contain spaces. */
const TAKE = {
  bash: 'mapfile -t COMPREPLY < <(compgen "$@" -- "$word")',
  zsh: `local all="$(compgen "$@" -- "$word")" IFS=$'\\n'; COMPREPLY=($all)`,
} as const

/** Returns a script for bash 4 and later, without bash-completion; zsh runs it through its `bashcompinit`. */
function scriptOf(program: CompletionEntry, shell: keyof typeof TAKE): string {
  const name = `_${program.name.replaceAll('-', '_')}`
  const script = `# Completions of ${program.name}: eval "$(${program.name} completion ${shell})"
${shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}${name}_take() { ${TAKE[shell]}; }
${name}() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" path='' skip='' at
  [[ $before == = ]] && before="\${COMP_WORDS[COMP_CWORD-2]}"
  for ((at = 1; at < COMP_CWORD; at++)); do
    [[ -n $skip ]] && { skip=''; continue; }
    case "\${COMP_WORDS[at]}" in
      --) compopt -o default; COMPREPLY=(); return ;;
      ${alternatives(valued(program))}) skip=1 ;;
      -*) ;;
      *) case "$path/\${COMP_WORDS[at]}" in ${alternatives(paths(program))}) path+="/\${COMP_WORDS[at]}" ;; esac ;;
    esac
  done
  COMPREPLY=()
  case "$path" in
${cases(program, '', `${name}_take`)}
  esac
}
complete -F ${name} ${program.name}
`
  // `compopt` only affects the display, and zsh does not have it.
  return shell === 'zsh' ? script.replace(/compopt -o \w+; /g, '') : script
}

/** Returns the cases for the command at a path and all commands below it. */
function cases({ flags, values, commands }: CompletionEntry, path: string, take: string): string {
  const words = (all: readonly string[]): string => `${take} -W '${all.join(' ')}'`
  const reply = (of: Values): string => {
    if (of === 'file') return `compopt -o filenames; ${take} -f`
    if (of === 'directory') return `compopt -o filenames; ${take} -d`
    return typeof of === 'string' ? ':' : words(of)
  }
  const here = [
    `    '${path}')`,
    '      case "$before" in',
    ...flags
      .filter(flag => flag.values !== 'none')
      .map(flag => `        ${flag.names.join('|')}) ${reply(flag.values)}; return ;;`),
    '      esac',
    `      if [[ $word == -* ]]; then ${words(flags.flatMap(({ names }) => names))}`,
    `      else ${commands.length > 0 ? words(commands.map(({ name }) => name)) : reply(values)}`,
    '      fi ;;',
  ]
  return [here.join('\n'), ...commands.map(command => cases(command, `${path}/${command.name}`, take))].join('\n')
}

const valued = ({ flags, commands }: CompletionEntry): readonly string[] => [
  ...flags.filter(({ values }: Flag) => values !== 'none').flatMap(({ names }) => names),
  ...commands.flatMap(valued),
]

const paths = ({ commands }: CompletionEntry, path = ''): readonly string[] =>
  commands.flatMap(command => [`${path}/${command.name}`, ...paths(command, `${path}/${command.name}`)])

const alternatives = (all: readonly string[]): string => Array.from(new Set(all)).join('|')
