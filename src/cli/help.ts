import { type Command, Help, type HelpConfiguration, Option } from 'commander'
import type { Sink } from './io.js'

const DEFAULT_WIDTH = 80
const FULL_HELP = '--help-all'
const FULL_HELP_TEXT = 'show all options and explanations'

/** Returns the width of help, which is the width of the terminal. */
export const helpWidth = ({ columns }: Sink): number => columns ?? DEFAULT_WIDTH

/** An option that only `--help-all` shows. */
export class RareOption extends Option {}

export interface HelpParts {
  /** Shown by `--help` and `--help-all`. */
  readonly text: string
  /** Shown by `--help-all` only. */
  readonly more?: string
}

/** Adds texts below the options, wrapped at the width of the terminal. Adds `--help-all` if there is more to show. */
export function addHelp(command: Command, stdout: Sink, { text, more }: HelpParts): void {
  command.addHelpText('after', () => {
    const parts = more !== undefined && isFull(command) ? [more, text] : [text]
    return parts.map(part => wrapHelp(part, helpWidth(stdout))).join('\n')
  })
  if (more === undefined && !command.options.some(option => option instanceof RareOption)) return
  command.option(FULL_HELP, FULL_HELP_TEXT)
  command.on('option:help-all', () => command.help())
}

const isFull = (command: Command): boolean => command.opts<{ helpAll?: true }>().helpAll === true

/** The configuration of help: `--help` shows common options in one list, and `--help-all` shows all in groups. */
export const HELP_CONFIGURATION: HelpConfiguration = {
  // The flags of `attach` leave 38 columns for descriptions, and Commander does not wrap columns narrower than 40 by
  // default.
  minWidthToWrap: 20,
  // The description of a flag mentions what the flag means without a value.
  optionDescription: option =>
    new Help().optionDescription(Object.assign(Object.create(option), { presetArg: undefined })),
  formatHelp: (command, help) => {
    if (isFull(command)) return Help.prototype.formatHelp.call(help, command, help)
    const brief: Help = Object.create(help)
    brief.visibleOptions = of =>
      Help.prototype.visibleOptions
        .call(help, of)
        .filter(option => !(option instanceof RareOption))
        .map(option => Object.assign(Object.create(option), { helpGroupHeading: undefined }))
    return Help.prototype.formatHelp.call(brief, command, brief)
  },
}

/**
 * Wraps paragraphs at words, and examples (`  $ ...`) so that they can be copied: with a backslash at the end of a
 * line, and never inside of quotes.
 */
export const wrapHelp = (text: string, width: number): string => {
  const lines: string[] = []
  for (const line of text.split('\n')) {
    if (line.startsWith('  $ ')) lines.push(...wrapExample(line, width))
    else lines.push(...wrapLine(line, width))
  }
  return lines.join('\n')
}

function wrapLine(line: string, width: number): readonly string[] {
  const lines: string[] = []
  let current = ''
  for (const word of line.split(' ')) {
    if (current !== '' && current.length + 1 + word.length > width) {
      lines.push(current)
      current = word
    } else current = current === '' ? word : `${current} ${word}`
  }
  return [...lines, current]
}

const INDENT = '      '

function wrapExample(line: string, width: number): readonly string[] {
  if (line.length <= width) return [line]
  const lines: string[] = []
  let current = ''
  for (const word of shellWords(line.trim())) {
    // Two columns are for the backslash.
    if (current !== '' && current.length + 1 + word.length > width - 2) {
      lines.push(`${current} \\`)
      current = `${INDENT}${word}`
    } else current = current === '' ? `  ${word}` : `${current} ${word}`
  }
  return [...lines, current]
}

/** Splits a command at the spaces outside of quotes, except the space between a flag and its value. */
function shellWords(text: string): readonly string[] {
  const words: string[] = []
  for (const word of splitUnquoted(text)) {
    const before = words.at(-1) ?? ''
    if (/^--[\w-]+$/.test(before) && !word.startsWith('-')) words[words.length - 1] = `${before} ${word}`
    else words.push(word)
  }
  return words
}

function splitUnquoted(text: string): readonly string[] {
  const words: string[] = []
  let [word, quote] = ['', '']
  for (const char of text) {
    if (char === ' ' && quote === '') {
      if (word !== '') words.push(word)
      word = ''
      continue
    }
    if (quote === '' ? char === "'" || char === '"' : char === quote) quote = quote === '' ? char : ''
    word += char
  }
  return word === '' ? words : [...words, word]
}
