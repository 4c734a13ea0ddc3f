import { execFile } from 'node:child_process'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { expect } from 'vitest'
import { bundle } from '../../../support/serve-page.js'
import { compilers } from './compilers.js'
import { builtPackage } from './package.js'
import { projectOf, snippets } from './snippets.js'

const run = promisify(execFile)
const ROOT = new URL('../../../../', import.meta.url)

export async function blocksOf(document: string, language: string): Promise<readonly string[]> {
  const text = await readFile(new URL(document, ROOT), 'utf8')
  return Array.from(text.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g')), ([, code = '']) => code)
}

/** Returns a page of docs/browser.md with the store's address, and the other files in the same folder. */
export async function documented(index: number, replacements: Readonly<Record<string, string>>) {
  let page = (await blocksOf('docs/browser.md', 'html'))[index] ?? ''
  for (const [old, wanted] of Object.entries(replacements)) {
    expect(page).toContain(old)
    page = page.replace(old, wanted)
  }
  const text = await readFile(new URL('docs/browser.md', ROOT), 'utf8')
  const [, script = ''] = /node -p "([^"]*)" > rxjs\.js/.exec(text) ?? []
  const { stdout } = await run(process.execPath, ['-p', script], { cwd: ROOT })
  return { '/index.html': page, '/rxjs.js': stdout }
}

/** Bundles code into one file, plus the files that this file loads later. */
export async function bundled(code: string, external: readonly string[] = []) {
  // Several files of specs bundle at the same time.
  const input = join(await mkdtemp(join(builtPackage(), 'page-')), 'page.js')
  await writeFile(input, code)
  const build = await rolldown({ input, platform: 'browser', external: [...external, 'ws'] })
  const { output } = await build.generate({ format: 'esm', minify: true })
  await build.close()
  const [page, ...later] = output.flatMap(file => (file.type === 'chunk' ? [file.code] : []))
  return { page: page ?? '', later: later.join('') }
}

const ADDRESS = 'ws://localhost:8083'
const programs = new Map<string, string>()

/**
 * Returns a page that uses the files of a section of docs/frameworks.md, with the store's address. The address is
 * inserted into the bundle, which is built once, since this takes longer than most tests.
 */
export async function programOf(section: string, main: string, url: string): Promise<string> {
  const built = programs.get(main)
  if (built !== undefined) return built.replaceAll(ADDRESS, url)
  const folder = projectOf([...filesOf(section, ADDRESS), { file: 'main.ts', code: main }])
  const program = await bundle(join(folder, 'main.ts'), { plugins: compilers(false) })
  programs.set(main, program)
  return program.replaceAll(ADDRESS, url)
}

/** Returns the files of a section of docs/frameworks.md and the shared file, with the store's address. */
export const filesOf = (section: string, url: string): readonly { readonly file: string; readonly code: string }[] =>
  snippets()
    .filter(snippet => snippet.section === section || snippet.file === 'store.ts')
    .map(({ file, code }) => ({ file, code: code.replaceAll(ADDRESS, url) }))
