import type { Glob } from '../../core/protocol/glob.js'
import { compileGlob } from '../../core/protocol/parse-command.js'
import { utf8 } from '../../core/util/bytes.js'
import { ArgumentError } from '../../core/util/errors.js'

/** Whom rights are looked up for. */
export interface Subject {
  readonly clientId: string
  readonly username?: string | undefined
  readonly attributes?: Readonly<Record<string, string>> | undefined
}

/** A text with places for what is known of a client. */
export type Template = readonly (string | ((subject: Subject) => string | undefined))[]

const PLACEHOLDER = /\{(principal\b[^{}]*)\}/
const ATTRIBUTE = /^principal\.attributes\.(.+)$/

/**
 * Reads `{principal.clientId}`, `{principal.username}` and `{principal.attributes.name}` out of a text (AIO, "Configure MQTT
 * broker authorization"). Throws {@link ArgumentError} for another name after `{principal`.
 */
export function parseTemplate(text: string): Template {
  const pieces = text.split(PLACEHOLDER)
  return pieces.flatMap((piece, index) => {
    if (index % 2 === 1) return placeholder(piece)
    if (piece.includes('{principal')) throw new ArgumentError(`\`{principal\` without its end in \`${text}\``)
    return piece === '' ? [] : piece
  })
}

/**
 * The text for a client; `undefined` when it lacks something that the text names, or `literal` has no form for it.
 *
 * @param literal - what stands for a known text, so that no sign of it means more than itself
 */
export function fill(
  template: Template,
  subject: Subject,
  literal: (text: string) => string | undefined,
): string | undefined {
  let text = ''
  for (const piece of template) {
    const known = typeof piece === 'string' ? piece : piece(subject)
    // An empty text would turn `{principal.attributes.site}*` into `*`.
    if (known === undefined || known === '') return undefined
    const part = typeof piece === 'string' ? piece : literal(known)
    if (part === undefined) return undefined
    text += part
  }
  return text
}

/** Whether a text has no places. */
export const isConstant = (template: Template): boolean => template.every(piece => typeof piece === 'string')

function placeholder(name: string): (subject: Subject) => string | undefined {
  if (name === 'principal.clientId') return ({ clientId }) => clientId
  if (name === 'principal.username') return ({ username }) => username
  const [, attribute] = ATTRIBUTE.exec(name) ?? []
  if (attribute === undefined) {
    const known = 'principal.clientId, principal.username and principal.attributes.<name>'
    throw new ArgumentError(`Expected one of ${known}, got \`{${name}}\``)
  }
  return ({ attributes = {} }) => (Object.hasOwn(attributes, attribute) ? attributes[attribute] : undefined)
}

/** Bytes of a glob, as the store has them. */
const MAX_GLOB_BYTES = 1_024

/** Text in a glob: its signs mean themselves. AIO once took them for what they are elsewhere, and mended it. */
export const literalGlob = (text: string): string => text.replace(/[*?[\]\\]/g, '\\$&')

/** A glob with places for what is known of a client. */
export class GlobTemplate {
  readonly #template: Template
  /** For everybody, if there are no places. */
  #shared: Glob | undefined

  /** Throws {@link ArgumentError} for a place where text could not stand for itself. */
  constructor(template: Template) {
    checkPlaceholders(template)
    this.#template = template
  }

  /** `undefined` when it fits nothing, for want of what it names or of room. */
  for(subject: Subject): Glob | undefined {
    if (this.#shared) return this.#shared
    const text = fill(this.#template, subject, literalGlob)
    const bytes = text === undefined ? undefined : utf8(text)
    if (bytes === undefined || bytes.length > MAX_GLOB_BYTES) return undefined
    const glob = compileGlob(bytes)
    if (isConstant(this.#template)) this.#shared = glob
    return glob
  }
}

/**
 * In a class a text would be ranges or its opposite, and after a `\\` the sign that keeps its first character from being
 * more than itself would be a sign itself.
 */
function checkPlaceholders(template: Template): void {
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

function stateAfter(text: string, initial: GlobState): GlobState {
  let state = initial
  for (const char of text) state = nextState(state, char)
  return state
}

function nextState(state: GlobState, char: string): GlobState {
  if (state === 'escape') return 'plain'
  if (state === 'class-escape') return 'class'
  if (state === 'plain') return char === '\\' ? 'escape' : char === '[' ? 'opened' : 'plain'
  if (state === 'opened' && /[\^!]/.test(char)) return 'class'
  if (char === ']') return 'plain'
  return char === '\\' ? 'class-escape' : 'class'
}
