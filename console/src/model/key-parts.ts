/** A key in two: where it belongs, and what it is called there. */
export function keyParts(name: string): readonly [place: string, own: string] {
  const [, place = '', own = name] = /^(.*[/\\:.])(.+)$/s.exec(name) ?? []
  return [place, own]
}
