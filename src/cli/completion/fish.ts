import type { Entry, Flag, Values } from './table.js'

/** Completions for fish. */
export function fishScript(program: Entry): string {
  const lines = [
    `# Completions of ${program.name} for fish: ${program.name} completion fish | source`,
    `complete -c ${program.name} -f`,
    ...program.flags.map(flag => line(program, '__fish_use_subcommand', flagWords(flag))),
    ...program.commands.flatMap(command => commandLines(program, command)),
  ]
  return `${lines.join('\n')}\n`
}

function commandLines(program: Entry, command: Entry): readonly string[] {
  const seen = `__fish_seen_subcommand_from ${command.name}`
  return [
    line(program, '__fish_use_subcommand', `-a ${command.name} -d ${quoted(command.summary)}`),
    ...command.flags.map(flag => line(program, seen, flagWords(flag))),
    ...(command.values === 'none' || command.values === 'any' ? [] : [line(program, seen, valueWords(command.values))]),
    // Their flags are those of the command above them as well: fish need not know in what order they stand.
    ...command.commands.flatMap(below => [
      line(program, seen, `-a ${below.name} -d ${quoted(below.summary)}`),
      ...below.flags.map(flag => line(program, seen, flagWords(flag))),
    ]),
  ]
}

const line = ({ name }: Entry, condition: string, words: string): string =>
  `complete -c ${name} -n '${condition}' ${words}`

function flagWords({ names, description, values }: Flag): string {
  const words = names.map(name => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`))
  const value = values === 'none' ? '' : ` ${valueWords(values)}`
  return `${words.join(' ')}${value} -d ${quoted(description)}`
}

function valueWords(values: Values): string {
  if (values === 'file') return '-r -F'
  if (values === 'directory') return "-x -a '(__fish_complete_directories)'"
  return typeof values === 'string' ? '-x' : `-x -a ${quoted(values.join(' '))}`
}

const quoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`
