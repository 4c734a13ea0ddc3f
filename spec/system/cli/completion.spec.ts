import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { execute } from '../../cli/test-io.js'
import { SERVICES } from '../../support/services.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const COMMANDS = ['serve', 'attach', 'get', 'set', 'del', 'keys', 'watch', 'status', 'completion', 'policy']

const ANSWER = '_rx_statestore; declare -p COMPREPLY'

/** The words before the tab key, with the candidates for them. */
const CASES: readonly (readonly [string, readonly string[]])[] = [
  ['st', ['status']],
  ['keys --verb', ['--verbose']],
  ['set k v --p', ['--password', '--persist', '--px']],
  ['serve --dialect ', ['documented', 'field']],
  ['--timeout 5s completion ', ['bash', 'zsh']],
  ['policy ch', ['check']],
  ['policy check --ca', ['--can']],
  ['policy check p.yaml --can S', ['Subscribe']],
  ['load afi', ['afile.json']],
  ['get -f afi', ['afile.json']],
  ['get k ', []],
]

describe('completion', () => {
  let folder: string

  beforeAll(() => {
    folder = temporaryFolder()
    writeFileSync(join(folder, 'afile.json'), '')
    mkdirSync(join(folder, 'adir'))
  })

  const scriptOf = async (shell: string): Promise<string> => (await execute(['completion', shell])).stdout

  it.each(['bash', 'zsh'])('the script for %s contains all commands', async shell => {
    const { code, stdout, stderr } = await execute(['completion', shell])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const command of COMMANDS) expect(stdout).toContain(command)
  })

  it.each(CASES)('bash offers matching candidates after `%s`', async (line, expected) => {
    const words = ['rx-statestore', ...line.split(' ')]
    const ask = [
      'compopt() { :; }',
      `COMP_WORDS=(${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}`,
      ANSWER,
    ]
    const input = [await scriptOf('bash'), ...ask].join('\n')
    const offered = execFileSync('bash', [], { input, cwd: folder }).toString()
    expect(Array.from(offered.matchAll(/\]="([^"]*)"/g), ([, word]) => word).sort()).toEqual([...expected])
  })

  it('bash offers candidates after an equals sign, which bash treats as a separate word', async () => {
    const ask = `COMP_WORDS=(rx-statestore serve --persist = k); COMP_CWORD=4; ${ANSWER}`
    expect(execFileSync('bash', [], { input: `${await scriptOf('bash')}\n${ask}` }).toString()).toContain('[0]="keys"')
  })

  it.runIf(SERVICES.zsh.present).each(CASES)(
    'zsh offers matching candidates after `%s`, among others',
    async (line, expected) => {
      const words = line.split(' ').map(word => `'${word}'`)
      // The function is called as by zsh's bashcompinit, which later drops candidates with another prefix.
      const ask = `() {
      emulate -L sh; setopt kshglob noshglob braceexpand ksharrays
      COMP_WORDS=(rx-statestore "$@"); COMP_CWORD=$#; _rx_statestore; printf '%s\\n' "\${COMPREPLY[@]}"
    } ${words.join(' ')}`
      const input = `autoload -U compinit; compinit -u -D\n${await scriptOf('zsh')}\n${ask}`
      const offered = execFileSync('zsh', ['-f'], { input, cwd: folder }).toString().split('\n')
      expect(offered).toEqual(expect.arrayContaining([...expected]))
    },
  )

  it('exits with code 2 for an unknown shell', async () => {
    const { code, stderr } = await execute(['completion', 'csh'])
    expect(code).toBe(2)
    expect(stderr).toMatch(/Allowed choices are bash, zsh; see rx-statestore completion --help\n$/)
  })
})
