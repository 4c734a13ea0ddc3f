import type { Entry, Flag, Values } from './table.js'

/** Completions for zsh: to be sourced, or put into `$fpath` as `_rx-statestore`. */
export function zshScript(program: Entry): string {
  const name = `_${program.name}`
  return `#compdef ${program.name}
# Completions of ${program.name} for zsh: source <(${program.name} completion zsh)
${functions(program, name).join('\n')}
if [[ "$funcstack[1]" == ${name} ]]; then ${name} "$@"; else compdef ${name} ${program.name}; fi
`
}

/** The function of a command, and those of the commands below it. */
function functions({ flags, values, commands }: Entry, name: string): readonly string[] {
  const specs = flags.flatMap(specsOf)
  if (commands.length === 0) return [`${name}() {\n${args([...specs, `'*:: :${action(values)}'`])}\n}`]
  const described = commands.map(command => quoted(`${command.name}:${command.summary.replaceAll(':', '\\:')}`))
  return [
    ...commands.flatMap(command => functions(command, `${name}_${command.name}`)),
    `${name}() {
  local curcontext="$curcontext" state line
${args([...specs, "'1: :->command'", "'*:: :->rest'"], ' -C')}
  case $state in
    command) local -a commands=(
      ${described.join('\n      ')}
    ); _describe command commands ;;
    rest) (( $+functions[${name}_$line[1]] )) && ${name}_$line[1] ;;
  esac
}`,
  ]
}

const args = (specs: readonly string[], options = ''): string =>
  `  _arguments${options} -s \\\n    ${specs.join(' \\\n    ')}`

const specsOf = ({ names, description, values }: Flag): readonly string[] =>
  names.map(name => {
    const repeats = names.length > 1 ? `(${names.join(' ')})` : ''
    const value = values === 'none' ? '' : `: :${action(values)}`
    return quoted(`${repeats}${name}[${description.replace(/[[\]\\:]/g, '\\$&')}]${value}`)
  })

function action(values: Values): string {
  if (values === 'file') return '_files'
  if (values === 'directory') return '_files -/'
  return typeof values === 'string' ? '' : `(${values.join(' ')})`
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
