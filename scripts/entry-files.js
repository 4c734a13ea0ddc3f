import { readFileSync } from 'node:fs'

/** @typedef {{ exports: Record<string, string | { types: string, default: string }>, bin: Record<string, string> }} Manifest */

/**
 * Returns the modules that package.json names, as paths below dist/ and src/ without extension.
 *
 * @returns {string[]}
 */
export function entryFiles(manifest = new URL('../package.json', import.meta.url)) {
  /** @type {Manifest} */
  const { exports, bin } = JSON.parse(readFileSync(manifest, 'utf8'))
  const targets = Object.values(exports).flatMap(target => (typeof target === 'string' ? [] : [target.default]))
  return [...targets, ...Object.values(bin)].map(file => file.replace(/^(\.\/)?dist\//, '').replace(/\.js$/, ''))
}
