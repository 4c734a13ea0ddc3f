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

describe('Commands that are loaded', () => {
  it('are the one that is asked for', async () => {
    expect(await loaded('get', 'a')).toEqual(['get'])
    expect(await loaded('--url', 'mqtt://localhost', 'set', 'a', '1')).toEqual(['set'])
  })

  it('are all that may be meant, when a key or a value is called like one', async () => {
    expect(await loaded('set', 'get', '1')).toEqual(['get', 'set'])
    expect(await loaded('--username', 'watch', 'keys')).toEqual(['keys', 'watch'])
  })

  it('are all of them for help, completions, a word that is none, and no word', async () => {
    const all = await loaded()
    expect(all.length).toBeGreaterThan(15)
    expect(await loaded('--help')).toEqual(all)
    expect(await loaded('completion', 'bash')).toEqual(all)
    expect(await loaded('sett', 'get', '1')).toEqual(all)
  })
})
