import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

/** package.json of this package, which finds itself by its name: a build may put this module into any of its files. */
const manifestPath = (): string => createRequire(import.meta.url).resolve('rx-statestore/package.json')

/** A file or folder of this package by its path below the root. */
export const packageFile = (path: string): URL => new URL(path, pathToFileURL(manifestPath()))

/** Version of this package. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(manifestPath(), 'utf8'))
  const version = typeof manifest === 'object' && manifest !== null && 'version' in manifest ? manifest.version : ''
  return String(version)
}
