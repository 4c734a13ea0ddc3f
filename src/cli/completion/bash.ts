import type { Entry, Flag, Values } from './table.js'

/** Completions for bash 4 and later, without bash-completion. */
export function bashScript(program: Entry): string {
  const name = `_${program.name.replaceAll('-', '_')}`
  return `# Completions of ${program.name} for bash: eval "$(${program.name} completion bash)"
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
${cases(program, '')}
  esac
}
complete -F ${name} ${program.name}
`
}

/** A case for the command at a path, and for all below it. */
function cases({ flags, values, commands }: Entry, path: string): string {
  const here = [
    `    '${path}')`,
    '      case "$before" in',
    ...flags
      .filter(({ values }) => values !== 'none')
      .map(flag => `        ${flag.names.join('|')}) ${reply(flag.values)}; return ;;`),
    '      esac',
    `      if [[ $word == -* ]]; then ${words(flags.flatMap(({ names }) => names))}`,
    `      else ${commands.length > 0 ? words(commands.map(({ name }) => name)) : reply(values)}`,
    '      fi ;;',
  ]
  return [here.join('\n'), ...commands.map(command => cases(command, `${path}/${command.name}`))].join('\n')
}

function reply(values: Values): string {
  if (values === 'file') return 'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word")'
  if (values === 'directory') return 'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word")'
  return typeof values === 'string' ? ':' : words(values)
}

const words = (all: readonly string[]): string => `mapfile -t COMPREPLY < <(compgen -W '${all.join(' ')}' -- "$word")`

const valued = ({ flags, commands }: Entry): readonly string[] => [
  ...flags.filter(({ values }: Flag) => values !== 'none').flatMap(({ names }) => names),
  ...commands.flatMap(valued),
]

const paths = ({ commands }: Entry, path = ''): readonly string[] =>
  commands.flatMap(command => [`${path}/${command.name}`, ...paths(command, `${path}/${command.name}`)])

const alternatives = (all: readonly string[]): string => Array.from(new Set(all)).join('|')
