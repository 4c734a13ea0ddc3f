// Builds the package: `node scripts/build.js [ROOT]`. TypeScript writes the declarations, unless `code` follows ROOT.
// Rolldown writes one module for each entry of package.json, and chunks for shared code. Packages that are neither dependencies nor peer
// dependencies are bundled.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join } from 'node:path'
import { rolldown } from 'rolldown'
import { esmExternalRequirePlugin } from 'rolldown/plugins'
import { entryFiles } from './entry-files.js'
import { licences } from './licences.js'

const HERE = new URL('..', import.meta.url).pathname
const [ROOT = HERE, parts] = process.argv.slice(2)
const DIST = join(ROOT, 'dist')

/** @type {{ dependencies: Record<string, string>, peerDependencies: Record<string, string> }} */
const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(HERE, 'package.json'), 'utf8'))
/** Optional dependencies of `ws`. */
const OPTIONAL = ['bufferutil', 'utf-8-validate']
const external = [...Object.keys(dependencies), ...Object.keys(peerDependencies), ...OPTIONAL]

const build = await rolldown({
  input: Object.fromEntries(entryFiles().map(name => [name, join(HERE, `src/${name}.ts`)])),
  external: external.map(name => new RegExp(`^${name}($|/)`)),
  // The plugin turns `require` of a Node module into an import. With the platform `node`, every chunk that has a
  // namespace would import `node:module`, even the chunks of pages.
  platform: 'neutral',
  resolve: { conditionNames: ['node', 'import'], mainFields: ['module', 'main'] },
  transform: { target: 'es2022' },
  plugins: [licences('licences.md'), esmExternalRequirePlugin({ external: [/^node:/, ...builtinModules] })],
  logLevel: 'warn',
  // Entries keep their directives.
  onLog: (level, log, handler) => log.code === 'MODULE_LEVEL_DIRECTIVE' || handler(level, log),
})
const { output } = await build.generate({
  format: 'esm',
  chunkFileNames: 'chunks/[name].js',
  polyfillRequire: false,
  comments: { jsdoc: false },
})
await build.close()
for (const file of output) {
  const path = join(DIST, file.fileName)
  mkdirSync(dirname(path), { recursive: true })
  // Each file is replaced atomically, because programs may run from dist/ during a build.
  writeFileSync(`${path}.new`, file.type === 'chunk' ? file.code : file.source)
  renameSync(`${path}.new`, path)
}

const compiler = join(HERE, 'node_modules/typescript/bin/tsc')
const compile = [compiler, '-p', join(HERE, 'tsconfig.build.json'), '--emitDeclarationOnly', '--outDir', DIST]
if (parts !== 'code') execFileSync(process.execPath, compile, { stdio: 'inherit' })
