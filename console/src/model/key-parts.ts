/** Splits a key into its prefix and its last segment. */
export function keyParts(name: string): readonly [prefix: string, name: string] {
  const [, prefix = '', segment = name] = /^(.*[/\\:.])(.+)$/s.exec(name) ?? []
  return [prefix, segment]
}
