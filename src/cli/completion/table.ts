import type { Argument, Command, Option } from 'commander'

/** What completes a value. */
export type Values = 'none' | 'any' | 'file' | 'directory' | readonly string[]

/** A flag as shells complete it. */
export interface Flag {
  readonly names: readonly string[]
  readonly description: string
  /** What follows it: nothing that is needed, or a value. */
  readonly values: Values
}

/** A command as shells complete it. */
export interface Entry {
  readonly name: string
  readonly summary: string
  readonly flags: readonly Flag[]
  /** Of all arguments, as shells need not count. */
  readonly values: Values
  readonly commands: readonly Entry[]
}

const HELP: Flag = { names: ['-h', '--help'], description: 'display help for command', values: 'none' }

/** The table of a program, made of what its parser knows. */
export function tableOf(command: Command): Entry {
  const commands = command.commands.map(tableOf)
  return {
    name: command.name(),
    summary: command.summary() || command.description(),
    flags: [...command.options.map(flagOf), HELP],
    values: argumentValues(command.registeredArguments),
    commands,
  }
}

const flagOf = ({ short, long, description, argChoices, required, flags }: Option): Flag => ({
  names: [short, long].filter(name => name !== undefined),
  description,
  // One whose value may be left out is one without, or what stands behind it would pass for that value.
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
