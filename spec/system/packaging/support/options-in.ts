/** An option that a code example passes to a function. */
export interface GivenOption {
  readonly call: string
  readonly option: string
}

const CLOSERS: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }

/** Returns the options that calls of these functions in a text receive: the names in an object that is an argument. */
export function optionsIn(text: string, calls: readonly string[]): readonly GivenOption[] {
  const call = new RegExp(`(?<![\\w.])(${calls.join('|')})\\(`, 'g')
  return Array.from(text.matchAll(call)).flatMap(({ 0: opening, 1: name = '', index }) =>
    namesIn(text.slice(index + opening.length)).map(option => ({ call: name, option })),
  )
}

/** Returns the names in the objects among the arguments at the beginning of a text. */
function namesIn(text: string): readonly string[] {
  const names: string[] = []
  const open = [')']
  let previous = ''
  // Strings and comments are matched as a whole, and everything else as single characters and words.
  for (const [token] of text.matchAll(/'[^'\n]*'|"[^"\n]*"|`[^`]*`|(?<!:)\/\/.*|[\w$]+|\.\.\.|\S/g)) {
    if (token.startsWith('//')) continue
    const closer = CLOSERS[token]
    if (closer !== undefined) open.push(closer)
    else if (token === open.at(-1)) open.pop()
    if (open.length === 0) break
    const isOption = open.length === 2 && open[1] === '}'
    if (isOption && /^[A-Za-z_$]/.test(token) && /^[{,]$/.test(previous)) names.push(token)
    previous = token
  }
  return names
}
