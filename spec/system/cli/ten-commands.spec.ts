import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { freePorts } from '../../../harness/free-port.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const CACHE = join(ROOT, 'node_modules/.cache')

/** A folder that contains the program `rx-statestore`, made from the sources. */
let bin: string

beforeAll(async () => {
  mkdirSync(CACHE, { recursive: true })
  bin = mkdtempSync(join(CACHE, 'rx-statestore-ten-commands-'))
  const main = join(bin, 'dist/main.js')
  const build = await rolldown({ input: join(ROOT, 'src/cli/main.ts'), platform: 'node', external: /^[^./]/ })
  await build.write({ file: main, format: 'esm', codeSplitting: false })
  await build.close()
  copyFileSync(join(ROOT, 'package.json'), join(bin, 'package.json'))
  const script = `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`
  writeFileSync(join(bin, 'rx-statestore'), script, { mode: 0o755 })
}, 60_000)

afterAll(() => rmSync(bin, { recursive: true }))

/**
 * Returns the page's commands. The lines between `<<'EOF'` and its end belong to one command, as does the line
 * after a backslash.
 */
function commandsOfThePage(): string[] {
  const page = readFileSync(join(ROOT, 'docs/security.md'), 'utf8')
  const [, block = ''] = /ten-commands\.spec\.ts\. -->\n```sh\n(.*?)\n```/s.exec(page) ?? []
  return block.match(/^.*<<'EOF'\n(?:.*\n)*?EOF$|^(?:.*\\\n)*.+$/gm) ?? []
}

it('The ten commands of docs/security.md set up a store that only the panel may write', async () => {
  const commands = commandsOfThePage()
  expect(commands).toHaveLength(10)
  // The page's ports may be in use on this machine. Nothing else is changed.
  const [port = '', wsPort = ''] = (await freePorts(2)).map(String)
  const script = commands
    .map(command => `${command}\necho "[$?]"`)
    .join('\n')
    .replaceAll('8883', port)
    .replaceAll('8884', wsPort)
  const folder = temporaryFolder()
  const env = { PATH: `${bin}${delimiter}${process.env['PATH']}` }
  const shell = spawn('bash', ['-c', `${script}\nkill $!; wait`], { cwd: folder, env, detached: true })
  onTestFinished(() => {
    if (shell.exitCode === null && shell.pid) process.kill(-shell.pid, 'SIGKILL')
  })
  const [stdout, stderr] = await Promise.all([shell.stdout.toArray(), shell.stderr.toArray()])
  expect(Buffer.concat(stdout).toString().replaceAll('\n', ' ')).toMatch(
    /^\[0\] \[0\] \[0\] allowed by rules\[0\]\.stateStoreResources\[0\] \[0\] denied: .* \[3\] \[0\] \[0\] (listening .* )?\[0\] 12 ?\[0\] \[1\] $/,
  )
  expect(Buffer.concat(stderr).toString()).toMatch(/not authorized/)
  const record = readFileSync(join(folder, 'record.jsonl'), 'utf8')
  expect(record).toMatch(/"action":"write".*"target":"line-1\/speed"/)
  expect(record).not.toContain(readFileSync(join(folder, 'panel.secret'), 'utf8').trim())
}, 60_000)
