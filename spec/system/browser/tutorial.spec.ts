import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { describeInBrowser } from './support/browser.js'
import { NO_SOCKET } from './support/guard.js'
import { builtPackage } from './support/package.js'
import { reads } from './support/waiting.js'

const run = promisify(execFile)
const ROOT = new URL('../../../', import.meta.url).pathname
const PAGE = readFileSync(join(ROOT, 'docs/tutorial.md'), 'utf8')
const blocks = (language: string): string[] =>
  Array.from(PAGE.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g')), ([, code = '']) => code)
const COMMANDS = blocks('sh').flatMap(block => block.trim().split('\n'))
const SERVE = 'npx rx-statestore serve --data ./state'
const GET = 'npx rx-statestore get thermostat1/setPoint'

interface Program {
  readonly child: ChildProcess
  readonly printed: () => string
}

/** Creates the folder of a reader after step 1 with the saved files, using free ports. */
async function openProject() {
  const folder = temporaryFolder()
  const [port, wsPort, vitePort] = [await freePort(), await freePort(), await freePort()]
  const ownPorts = (text: string): string =>
    text.replaceAll('localhost:1883', `localhost:${port}`).replaceAll('localhost:8083', `localhost:${wsPort}`)
  mkdirSync(join(folder, 'node_modules'))
  for (const name of ['rxjs', 'mqtt', 'vite']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  }
  symlinkSync(builtPackage(), join(folder, 'node_modules/rx-statestore'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'panel', type: 'module' }))
  for (const text of [...blocks('js'), ...blocks('html')]) {
    const [, file] = /^(?:\/\/|<!--) (\S+)/.exec(text) ?? []
    if (file !== undefined) writeFileSync(join(folder, file), ownPorts(text))
  }
  const options = { cwd: folder, env: { ...process.env, RX_STATESTORE_URL: `mqtt://127.0.0.1:${port}` } }
  const argumentsOf = (command: string): string[] => {
    const [npx, program = '', ...rest] = command.split(' ')
    if (npx === 'node') return [program, ...rest]
    if (program === 'vite') return [join(ROOT, 'node_modules/vite/bin/vite.js'), '--port', String(vitePort)]
    const ports = rest[0] === 'serve' ? ['--port', String(port), '--ws-port', String(wsPort)] : []
    return [join(builtPackage(), 'dist/cli/main.js'), ...rest, ...ports]
  }
  return {
    address: `http://localhost:${vitePort}/`,
    runs: async (command: string): Promise<string> => {
      expect(COMMANDS).toContain(command)
      return (await run(process.execPath, argumentsOf(command), options)).stdout
    },
    /** Starts a command of the tutorial and waits for a text in its output. */
    starts: async (command: string, text: string | RegExp): Promise<Program> => {
      expect(COMMANDS).toContain(command)
      const child = spawn(process.execPath, argumentsOf(command), options)
      onTestFinished(() => void child.kill('SIGKILL'))
      let printed = ''
      child.stdout.on('data', chunk => {
        printed += String(chunk)
      })
      await expect.poll(() => printed).toMatch(text)
      return { child, printed: () => printed }
    },
  }
}

async function interrupt({ child }: Program): Promise<void> {
  child.kill('SIGINT')
  await once(child, 'exit')
}

describeInBrowser('The tutorial', open => {
  it('every step gives the described result, up to a page that survives a restart of the store', async () => {
    const { address, runs, starts } = await openProject()
    const store = await starts(SERVE, 'listening on mqtt://127.0.0.1:')
    expect(await runs('npx rx-statestore set thermostat1/setPoint 20')).toMatch(/^\d+:\d+:StateStore\n$/)
    expect(await runs(GET)).toBe('20')

    const watch = await starts('node watch.js', /^connecting\nset point 20\nlive\n$/)
    await runs('npx rx-statestore set thermostat1/setPoint 21')
    await expect.poll(watch.printed).toMatch(/live\nset point 21\n$/)
    await interrupt(store)
    await expect.poll(watch.printed).toMatch(/set point 21\nstale\n$/)
    const restarted = await starts(SERVE, 'listening on')
    await expect.poll(watch.printed).toMatch(/set point 21\nstale\n(resyncing\n)?live\n$/)
    await interrupt(watch)

    await starts('npx vite', 'Local')
    const { page } = await open(address, { allow: [NO_SOCKET] })
    const { page: second } = await open(address, { allow: [NO_SOCKET] })
    const status = page.getByRole('status')
    await reads(status, 'confirmed, live')
    await reads(page.locator('output'), '21')
    await page.getByRole('slider').fill('22')
    await reads(second.locator('output'), '22')
    await reads(status, 'confirmed, live')

    await interrupt(restarted)
    await reads(status, 'confirmed, stale')
    await page.getByRole('slider').fill('25')
    await reads(status, 'pending, stale')
    await starts(SERVE, 'listening on')
    await reads(status, 'confirmed, live')
    expect(await runs(GET)).toBe('25')
    await reads(second.locator('output'), '25')
  })
})

it('Every command of the tutorial is run by this spec', () => {
  const installed = ['mkdir panel && cd panel', 'npm init -y', 'npm pkg set type=module']
  expect(COMMANDS).toEqual([
    ...installed,
    'npm install rx-statestore rxjs vite',
    SERVE,
    'npx rx-statestore set thermostat1/setPoint 20',
    GET,
    'node watch.js',
    'npx rx-statestore set thermostat1/setPoint 21',
    'npx vite',
    SERVE,
    GET,
  ])
})
