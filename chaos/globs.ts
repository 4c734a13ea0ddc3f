/** A glob, and the keys of a run that fit it, said another way than the library does. */
export interface Glob {
  glob: string
  form: RegExp
}

/** All of them overlap in some keys. */
export const GLOBS: readonly Glob[] = [
  { glob: 'chaos/*', form: /^chaos\// },
  { glob: 'chaos/1*', form: /^chaos\/1/ },
  { glob: 'chaos/*7', form: /^chaos\/.*7$/ },
  { glob: 'chaos/?', form: /^chaos\/.$/ },
  { glob: 'chaos/[0-4]?*', form: /^chaos\/[0-4]./ },
]

/** @param glob - one of {@link GLOBS} */
export const fits = (glob: string, key: string) => GLOBS.some(one => one.glob === glob && one.form.test(key))
