import { ArgumentError } from '../../core/util/errors.js'

/** Whom rights are looked up for. */
export interface Subject {
  readonly clientId: string
  readonly username?: string | undefined
  readonly attributes?: Readonly<Record<string, string>> | undefined
}

/** A text with places for what is known of a client. */
export type Template = readonly (string | ((subject: Subject) => string | undefined))[]

const PLACE = /\{(principal\b[^{}]*)\}/
const ATTRIBUTE = /^principal\.attributes\.(.+)$/

/**
 * Reads `{principal.clientId}`, `{principal.username}` and `{principal.attributes.name}` out of a text (AIO, "Configure MQTT
 * broker authorization"). Throws {@link ArgumentError} for another name after `{principal`.
 */
export function parseTemplate(text: string): Template {
  const pieces = text.split(PLACE)
  return pieces.flatMap((piece, index) => {
    if (index % 2 === 1) return variable(piece)
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

function variable(name: string): (subject: Subject) => string | undefined {
  if (name === 'principal.clientId') return ({ clientId }) => clientId
  if (name === 'principal.username') return ({ username }) => username
  const [, attribute] = ATTRIBUTE.exec(name) ?? []
  if (attribute === undefined) {
    const known = 'principal.clientId, principal.username and principal.attributes.<name>'
    throw new ArgumentError(`Expected one of ${known}, got \`{${name}}\``)
  }
  return ({ attributes = {} }) => (Object.hasOwn(attributes, attribute) ? attributes[attribute] : undefined)
}
