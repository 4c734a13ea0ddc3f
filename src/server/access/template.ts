import type { Glob } from '../../core/protocol/glob.js'
import { compileRequestGlob } from '../../core/protocol/parse-command.js'
import { utf8 } from '../../core/util/bytes.js'
import { ArgumentError } from '../../core/util/errors.js'

export interface Subject {
  readonly clientId: string
  readonly username?: string | undefined
  readonly attributes?: Readonly<Record<string, string>> | undefined
}

/** A text with placeholders for properties of a client. */
export type Template = readonly (string | ((subject: Subject) => string | undefined))[]

const PLACEHOLDER = /\{(principal\b[^{}]*)\}/
const ATTRIBUTE = /^principal\.attributes\.(.+)$/

/**
 * Parses `{principal.clientId}`, `{principal.username}` and `{principal.attributes.name}` in a text (AIO, "Configure
 * MQTT broker authorization"). Throws {@link ArgumentError} for any other name after `{principal`.
 */
export function parseTemplate(text: string): Template {
  const pieces = text.split(PLACEHOLDER)
  return pieces.flatMap((piece, index) => {
    if (index % 2 === 1) return placeholder(piece)
    if (piece.includes('{principal')) throw new ArgumentError(`unclosed \`{principal\` in \`${text}\``)
    return piece === '' ? [] : piece
  })
}

/**
 * Fills in the placeholders. Returns `undefined` if the client lacks a value, or if a value is not a single level of a
 * topic. With `devices/{principal.clientId}/#`, a client `panel/door` would otherwise have a part of the topics of
 * `panel`.
 *
 * @param literal - escapes a value, so that its characters have no special meaning
 */
export function fill(
  template: Template,
  subject: Subject,
  literal: (text: string) => string = text => text,
): string | undefined {
  let text = ''
  for (const piece of template) {
    const known = typeof piece === 'string' ? piece : piece(subject)
    if (typeof piece !== 'string' && !isOneLevel(known)) return undefined
    text += typeof piece === 'string' ? piece : literal(known ?? '')
  }
  return text
}

/** An empty value would turn `{principal.attributes.site}*` into `*`. */
const isOneLevel = (value: string | undefined): boolean => value !== undefined && /^[^/+#\0]+$/.test(value)

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

const MAX_GLOB_BYTES = 1_024

/** Escapes a text for use in a glob. An early release of AIO left the wildcards of such values active. */
export const literalGlob = (text: string): string => text.replace(/[*?[\]\\]/g, '\\$&')

/** A glob with placeholders for properties of a client. */
export class GlobTemplate {
  readonly #template: Template
  #shared: Glob | undefined

  constructor(template: Template) {
    checkPlaceholders(template)
    this.#template = template
  }

  /** Returns the glob for a client, or `undefined` if the client lacks a value or the glob gets too long. */
  for(subject: Subject): Glob | undefined {
    if (this.#shared) return this.#shared
    const text = this.textFor(subject)
    const bytes = text === undefined ? undefined : utf8(text)
    if (bytes === undefined || bytes.length > MAX_GLOB_BYTES) return undefined
    const glob = compileRequestGlob(bytes)
    if (isConstant(this.#template)) this.#shared = glob
    return glob
  }

  /** Returns the glob's text for a client, or `undefined` if the client lacks a value. */
  textFor(subject: Subject): string | undefined {
    return fill(this.#template, subject, literalGlob)
  }
}

/**
 * Rejects a placeholder within a class, where its value would become a range or a negation. Also rejects a placeholder
 * after a `\\`, which would escape the backslash that escapes the value's first character.
 */
function checkPlaceholders(template: Template): void {
  let state: GlobState = 'plain'
  for (const piece of template) {
    if (typeof piece === 'string') state = stateAfter(piece, state)
    else if (state === 'escape')
      throw new ArgumentError('Expected no `\\` before a placeholder; use `\\\\` for a literal backslash')
    else if (state !== 'plain') throw new ArgumentError('Expected no placeholder in a class `[...]`')
  }
}

/** A state of the glob parser. `opened`: directly after `[`, where `^` or `!` negates the class. */
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
