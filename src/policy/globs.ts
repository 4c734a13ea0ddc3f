import { utf8 } from '../base/bytes.js'
import { compileGlob, type Glob } from '../engine/glob.js'
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

  constructor(template: Template) {
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
