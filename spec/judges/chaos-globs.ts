import { globMatcher } from './globs.js'

/** Globs that overlap in some keys. */
export const GLOBS = ['chaos/*', 'chaos/1*', 'chaos/*7', 'chaos/?', 'chaos/[0-4]?*'] as const

const FORMS = new Map<string, (key: string) => boolean>(GLOBS.map(glob => [glob, globMatcher(glob)]))

/** Returns whether a key matches one of {@link GLOBS}. */
export const matchesGlob = (glob: string, key: string): boolean => FORMS.get(glob)?.(key) ?? false
