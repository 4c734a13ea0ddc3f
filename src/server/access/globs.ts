import type { Glob } from '../../core/protocol/glob.js'
import { compileGlob } from '../../core/protocol/parse-command.js'
import { utf8 } from '../../core/util/bytes.js'
import { ArgumentError } from '../../core/util/errors.js'
import { fill, isConstant, type Subject, type Template } from './template.js'

/** Bytes of a glob, as the store has them. */
const LONGEST_GLOB = 1_024

/** Text in a glob: its signs mean themselves. AIO once took them for what they are elsewhere, and mended it. */
export const literalGlob = (text: string): string => text.replace(/[*?[\]\\]/g, '\\$&')

/** A glob with places for what is known of a client. */
export class GlobTemplate {
  readonly #template: Template
  /** For everybody, if there are no places. */
  #shared: Glob | undefined

  /** Throws {@link ArgumentError} for a place where text could not stand for itself. */
  constructor(template: Template) {
    checkPlaces(template)
    this.#template = template
  }

  /** `undefined` when it fits nothing, for want of what it names or of room. */
  for(subject: Subject): Glob | undefined {
    if (this.#shared) return this.#shared
    const text = fill(this.#template, subject, literalGlob)
    const bytes = text === undefined ? undefined : utf8(text)
    if (bytes === undefined || bytes.length > LONGEST_GLOB) return undefined
    const glob = compileGlob(bytes)
    if (isConstant(this.#template)) this.#shared = glob
    return glob
  }
}

/**
 * In a class a text would be ranges or its opposite, and after a `\\` the sign that keeps its first character from being
 * more than itself would be a sign itself.
 */
function checkPlaces(template: Template): void {
  let state: GlobState = 'plain'
  for (const piece of template) {
    if (typeof piece === 'string') state = stateAfter(piece, state)
    else if (state === 'escape')
      throw new ArgumentError('Expected no `\\` before a place; `\\\\` is one that means itself')
    else if (state !== 'plain') throw new ArgumentError('Expected no place in a class `[...]`')
  }
}

/** Where in a glob one is; a class has `opened` before its first sign, which may be a negation. */
type GlobState = 'plain' | 'escape' | 'opened' | 'class' | 'class-escape'

function stateAfter(text: string, before: GlobState): GlobState {
  let state = before
  for (const sign of text) state = stepOf(state, sign)
  return state
}

function stepOf(state: GlobState, sign: string): GlobState {
  if (state === 'escape') return 'plain'
  if (state === 'class-escape') return 'class'
  if (state === 'plain') return sign === '\\' ? 'escape' : sign === '[' ? 'opened' : 'plain'
  if (state === 'opened' && /[\^!]/.test(sign)) return 'class'
  if (sign === ']') return 'plain'
  return sign === '\\' ? 'class-escape' : 'class'
}
