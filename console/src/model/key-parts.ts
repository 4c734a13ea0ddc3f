/** Splits a key into its prefix and its last segment. */
export function keyParts(name: string): readonly [place: string, own: string] {
  const [, prefix = '', ownName = name] = /^(.*[/\\:.])(.+)$/s.exec(name) ?? []
  return [prefix, ownName]
}
