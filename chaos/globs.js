/**
 * A glob, and the keys of a run that fit it, said another way than the library does.
 *
 * @typedef {object} Glob
 * @property {string} glob
 * @property {RegExp} form
 */

/** All of them overlap in some keys. @type {readonly Glob[]} */
export const GLOBS = [
  { glob: 'chaos/*', form: /^chaos\// },
  { glob: 'chaos/1*', form: /^chaos\/1/ },
  { glob: 'chaos/*7', form: /^chaos\/.*7$/ },
  { glob: 'chaos/?', form: /^chaos\/.$/ },
  { glob: 'chaos/[0-4]?*', form: /^chaos\/[0-4]./ },
]

/**
 * @param {string} glob - one of {@link GLOBS}
 * @param {string} key
 */
export const fits = (glob, key) => GLOBS.some(one => one.glob === glob && one.form.test(key))
