import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { firstValueFrom } from 'rxjs'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../harness/free-port.js'
import { number, systemClock } from '../../../src/client/index.js'
import { openClient } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { servePage } from '../../support/serve-page.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { describeInBrowser } from '../browser/support/browser.js'
import { reads } from '../browser/support/waiting.js'

const run = promisify(execFile)
const ROOT = new URL('../../..', import.meta.url).pathname
const TOOLCHAINS = new URL('toolchains/', import.meta.url).pathname
const INSTALL_MS = 300_000
const BUILD_MS = 180_000

// These specs run with `TOOLCHAINS=1`, as in the nightly run, since they install 500 MB.
describeInBrowser('The packed package', openPage => {
  let home = ''

  beforeAll(async () => {
    // The folder is outside `node_modules`, where bundlers treat sources as packages.
    home = temporaryFolder()
    await cp(TOOLCHAINS, home, { recursive: true, filter: source => !source.includes('node_modules') })
    const packed = await run('npm', ['pack', '--ignore-scripts', '--pack-destination', home], { cwd: ROOT })
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund']
    await run('npm', ['ci', ...flags], { cwd: home })
    const tarball = `./${packed.stdout.trim().split('\n').at(-1)}`
    await run('npm', ['install', ...flags, tarball, 'rxjs@7.8.2'], { cwd: home })
  }, INSTALL_MS)

  /** Starts a store with the set point 20, and copies these files into a project that connects to this store. */
  async function open(name: string, ...files: readonly string[]) {
    const { store } = await openStore({ clock: systemClock })
    const setPoint = openClient(store.url).key('setPoint', number)
    await firstValueFrom(setPoint.set(20))
    const folder = join(home, name)
    for (const file of files) {
      const source = await readFile(join(TOOLCHAINS, file), 'utf8')
      const target = join(folder, file)
      await mkdir(join(target, '..'), { recursive: true })
      await writeFile(target, source.replace('STORE_URL', store.wsUrl).replace('SERVER_URL', store.url))
    }
    return { setPoint, folder }
  }

  const build = (folder: string, ...args: readonly string[]) =>
    run(process.execPath, args, { cwd: folder, env: { ...process.env, NODE_ENV: 'production', CI: '1' } })

  it('the client connects and watches in a page built by webpack', { timeout: BUILD_MS }, async () => {
    const { setPoint, folder } = await open('webpack', 'main.js')
    const program = `
      require('webpack')({ mode: 'production', entry: './main.js', performance: false }, (error, stats) => {
        console.log(error ?? stats.toString({ all: false, errors: true, warnings: true }))
        process.exitCode = error || stats.hasErrors() ? 1 : 0
      })`
    await writeFile(join(folder, 'build.cjs'), program)
    const { stdout } = await build(folder, 'build.cjs')
    expect(stdout.trim()).toBe('')
    const { page } = await openPage(await servePage(await readFile(join(folder, 'dist/main.js'), 'utf8')))
    await reads(page.getByTitle('8 entries'), '20 °C')
    await firstValueFrom(setPoint.set(21))
    await reads(page.getByTitle('8 entries'), '21 °C')
  })

  it('the client connects and watches in a page built by Parcel', { timeout: BUILD_MS }, async () => {
    const { setPoint, folder } = await open('parcel', 'main.js')
    const parcel = join(home, 'node_modules/parcel/lib/bin.js')
    await build(folder, parcel, 'build', 'main.js', '--no-source-maps', '--no-cache', '--dist-dir', 'dist')
    const { page } = await openPage(await servePage(await readFile(join(folder, 'dist/main.js'), 'utf8')))
    await reads(page.getByTitle('8 entries'), '20 °C')
    await firstValueFrom(setPoint.set(21))
    await reads(page.getByTitle('8 entries'), '21 °C')
  })

  it('a Next app renders a key on the server, reads it in a route and watches it in the page', {
    timeout: BUILD_MS,
  }, async () => {
    const files = ['app/layout.jsx', 'app/page.jsx', 'app/set-point.jsx', 'app/value/route.js']
    const { setPoint, folder } = await open('next', ...files)
    const next = join(home, 'node_modules/next/dist/bin/next')
    await build(folder, next, 'build')
    const port = await freePort()
    const server = spawn(process.execPath, [next, 'start', '-H', '127.0.0.1', '-p', String(port)], {
      cwd: folder,
      env: { ...process.env, NODE_ENV: 'production' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(async () => {
      const ended = once(server, 'exit')
      server.kill()
      await ended
    })
    const address = `http://127.0.0.1:${port}`
    await expect
      .poll(
        async () =>
          fetch(address).then(
            ({ status }) => status,
            () => 0,
          ),
        { timeout: 30_000 },
      )
      .toBe(200)
    expect(await (await fetch(address)).text()).toContain('data-freshness="connecting"')
    expect(await (await fetch(`${address}/value`)).json()).toBe(20)
    const { page } = await openPage(address)
    await reads(page.locator('output'), '20 °C')
    await firstValueFrom(setPoint.set(21))
    await reads(page.locator('output'), '21 °C')
  })
})
