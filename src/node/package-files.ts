import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

/**
 * Returns the path of package.json. It is resolved by the package name, because a bundler may put this module into any
 * file.
 */
const manifestPath = (): string => createRequire(import.meta.url).resolve('rx-statestore/package.json')

/** Returns the URL of a file or folder in this package. */
export const packageFile = (path: string): URL => new URL(path, pathToFileURL(manifestPath()))

export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(manifestPath(), 'utf8'))
  const version = typeof manifest === 'object' && manifest !== null && 'version' in manifest ? manifest.version : ''
  return String(version)
}
