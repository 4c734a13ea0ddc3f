/** Returns whether a key fits a glob of `*`, `?` and `[...]`, told in another way than the library does. */
export function fitsOf(glob: string): (key: string) => boolean {
  const form = new RegExp(`^${glob.replaceAll('*', '.*').replaceAll('?', '.')}$`)
  return key => form.test(key)
}
