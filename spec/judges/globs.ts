/** Returns a matcher for a glob of `*`, `?` and `[...]`, implemented independently of the library. */
export function globMatcher(glob: string): (key: string) => boolean {
  const form = new RegExp(`^${glob.replaceAll('*', '.*').replaceAll('?', '.')}$`)
  return key => form.test(key)
}
