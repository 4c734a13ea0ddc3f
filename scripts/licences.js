import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'

/** Packages whose files are already bundles that contain their dependencies. */
const BUNDLES = ['mqtt']
/** Licence texts for packages that do not include one. */
const TEXTS = new URL('./licences/', import.meta.url)

/**
 * Creates a plugin that writes the licences of all bundled packages into a file beside the bundle.
 *
 * @param {string} fileName
 * @param {string} root - names of assets are relative to it
 * @returns {import('rolldown').Plugin}
 */
export function licences(fileName, root = '.') {
  return {
    name: 'licences',
    generateBundle(_options, output) {
      const chunks = Object.values(output).filter(file => file.type === 'chunk')
      const modules = chunks.flatMap(({ modules }) =>
        Object.entries(modules).flatMap(([id, { renderedLength }]) => (renderedLength > 0 ? [id] : [])),
      )
      // Fonts.
      const assets = Object.values(output).flatMap(file => (file.type === 'asset' ? file.originalFileNames : []))
      const bundled = new Set(
        [...modules, ...assets.map(name => resolve(root, name))].flatMap(id => packageFolder(id) ?? []),
      )
      for (const folder of bundled) for (const inner of innerFolders(folder)) bundled.add(inner)
      const notices = new Set([...bundled].sort().map(noticeOf))
      this.emitFile({ type: 'asset', fileName, source: ['# Licences of what is bundled', ...notices].join('\n\n') })
    },
  }
}

/** @param {string} folder */
const manifestOf = folder => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** @param {string} id @returns {string | undefined} */
function packageFolder(id) {
  const [path = ''] = id.replace(/^\0/, '').split('?')
  if (!path.includes('/node_modules/')) return undefined
  for (let folder = dirname(path); !folder.endsWith('/node_modules'); folder = dirname(folder))
    if (existsSync(join(folder, 'package.json')) && manifestOf(folder).version) return folder
  throw new Error(`Expected a package around ${path}`)
}

/**
 * Returns the folders of the packages inside a package that is a bundle, and of their dependencies.
 *
 * @param {string} folder @param {boolean} isInner
 * @returns {string[]}
 */
function innerFolders(folder, isInner = false) {
  const { name, dependencies = {} } = manifestOf(folder)
  if (!isInner && !BUNDLES.includes(name)) return []
  const places = createRequire(join(folder, 'package.json')).resolve.paths('x') ?? []
  return Object.keys(dependencies).flatMap(each => {
    const inner = places.map(place => join(place, each)).find(place => existsSync(join(place, 'package.json')))
    return inner === undefined || each.startsWith('@types/') ? [] : [inner, ...innerFolders(inner, true)]
  })
}

/** @param {string} folder */
function noticeOf(folder) {
  const { name, version, license } = manifestOf(folder)
  const file = readdirSync(folder).find(entry => /^(licen[cs]e|copying)/i.test(entry))
  const path = file ? join(folder, file) : new URL(`${name}.txt`, TEXTS)
  if (!existsSync(path)) throw new Error(`Expected a licence in ${folder}, or in scripts/licences/${name}.txt`)
  return `## ${name} ${version} (${license})\n\n\`\`\`text\n${readFileSync(path, 'utf8').trim()}\n\`\`\``
}
