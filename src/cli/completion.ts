import { Argument, type Command } from 'commander'
import { bashScript } from './completion/bash.js'
import { fishScript } from './completion/fish.js'
import { tableOf } from './completion/table.js'
import { zshScript } from './completion/zsh.js'
import { type Io, print } from './io.js'

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const

const HELP = `
The script knows all commands and flags, and where files, directories or one of a few words are expected.
Put the line of your shell into its start file:

Examples:
  $ eval "$(rx-statestore completion bash)"                                          # ~/.bashrc
  $ source <(rx-statestore completion zsh)                                           # ~/.zshrc, after compinit
  $ rx-statestore completion fish > ~/.config/fish/completions/rx-statestore.fish    # once`

/** Adds `completion SHELL`. */
export function addCompletion(program: Command, io: Io): void {
  const command = program.command('completion').summary('print completions for a shell')
  command.description('Prints what makes a shell complete commands and flags with the tab key.')
  command.addArgument(new Argument('<shell>', 'shell').choices(Object.keys(SCRIPTS)))
  command.addHelpText('after', HELP)
  command.action(async (shell: keyof typeof SCRIPTS) => print(io.stdout, SCRIPTS[shell](tableOf(program))))
}
