import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { processIo } from '../../src/cli/io.js'
import { commandsFor } from '../../src/cli/run.js'

const io = processIo()

async function loaded(...args: string[]): Promise<string[]> {
  const program = new Command()
  for (const add of await commandsFor(args)) add(program, io)
  return program.commands.map(command => command.name())
}

describe('The command line', () => {
  it('loads only the command that is named', async () => {
    expect(await loaded('get', 'a')).toEqual(['get'])
    expect(await loaded('--url', 'mqtt://localhost', 'set', 'a', '1')).toEqual(['set'])
  })

  it('loads each command whose name is also a key or value among the arguments', async () => {
    expect(await loaded('set', 'get', '1')).toEqual(['get', 'set'])
    expect(await loaded('--username', 'watch', 'keys')).toEqual(['keys', 'watch'])
  })

  it('loads all commands for help, for completion, for an unknown command and without a command', async () => {
    const all = await loaded()
    expect(all.length).toBeGreaterThan(15)
    expect(await loaded('--help')).toEqual(all)
    expect(await loaded('completion', 'bash')).toEqual(all)
    expect(await loaded('sett', 'get', '1')).toEqual(all)
  })
})
