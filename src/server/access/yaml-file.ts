import { type Document, isNode, LineCounter, parseDocument } from 'yaml'
import { ArgumentError, formatValue, reason } from '../../core/util/errors.js'

const MAX_FILE_LENGTH = 1024 * 1024
const MAX_SHOWN_LENGTH = 60

type Path = readonly (string | number)[]

/**
 * A strict YAML reader that rejects unknown content. All readers throw {@link ArgumentError} with the line of the
 * error.
 */
export class YamlFile {
  readonly #document: Document.Parsed
  readonly #lines: LineCounter
  readonly #root: unknown

  constructor(text: string) {
    if (text.length > MAX_FILE_LENGTH) throw new ArgumentError(`Expected at most ${MAX_FILE_LENGTH} characters`)
    this.#lines = new LineCounter()
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false, logLevel: 'error' })
    const [error] = [...this.#document.errors, ...this.#document.warnings]
    if (error) throw new ArgumentError(`line ${this.#lines.linePos(error.pos[0]).line}: ${error.message}`)
    this.#root = this.#value()
  }

  get root(): YamlNode {
    return new YamlNode(this.#root, [], path => this.#locate(path))
  }

  #value(): unknown {
    try {
      return this.#document.toJS({ maxAliasCount: 100 })
    } catch (cause) {
      throw new ArgumentError(reason(cause), { cause })
    }
  }

  #locate(path: Path): string {
    const node = this.#document.getIn(path, true)
    const formatted = formatPath(path)
    if (!isNode(node) || !node.range) return formatted
    const line = `line ${this.#lines.linePos(node.range[0]).line}`
    return formatted === '' ? line : `${line}, ${formatted}`
  }
}

/** A value in a file, with its path for error messages. */
export class YamlNode {
  readonly value: unknown
  readonly #path: Path
  readonly #locate: (path: Path) => string

  constructor(value: unknown, path: Path, locate: (path: Path) => string) {
    this.value = value
    this.#path = path
    this.#locate = locate
  }

  error(message: string): ArgumentError {
    return new ArgumentError(`${this.#locate(this.#path) || 'the file'}: ${message}`)
  }

  /** Returns the named fields of a map. Throws if the map has any other field. */
  fields<N extends string>(...names: readonly N[]): Partial<Record<N, YamlNode>> {
    const { value } = this
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw this.#mismatch('a map')
    const unknown = Object.keys(value).find(name => !names.some(known => known === name))
    if (unknown !== undefined) {
      throw this.error(`Expected only ${names.join(', ')}, got \`${unknown.slice(0, MAX_SHOWN_LENGTH)}\``)
    }
    const found: Partial<Record<string, YamlNode>> = {}
    for (const name of names) if (Object.hasOwn(value, name)) found[name] = this.#child(name, Reflect.get(value, name))
    return found
  }

  list(): readonly YamlNode[] {
    if (!Array.isArray(this.value)) throw this.#mismatch('a list')
    return this.value.map((item: unknown, index) => this.#child(index, item))
  }

  text(): string {
    if (typeof this.value === 'string' && this.value !== '') return this.value
    const hint = ['number', 'boolean'].includes(typeof this.value) ? '; quote it' : ''
    throw this.#mismatch('a non-empty string', hint)
  }

  choice<C extends string>(...choices: readonly C[]): C {
    const choice = choices.find(candidate => candidate === this.value)
    if (choice === undefined) throw this.#mismatch(`one of ${choices.join(', ')}`)
    return choice
  }

  children(): readonly YamlNode[] {
    return Array.from(this.entries().values())
  }

  /** Returns the fields of a map by name. */
  entries(): ReadonlyMap<string, YamlNode> {
    const { value } = this
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw this.#mismatch('a map')
    return new Map(Object.entries(value).map(([name, item]) => [name, this.#child(name, item)]))
  }

  texts(): readonly string[] {
    return this.list().map(item => item.text())
  }

  textMap(): Readonly<Record<string, string>> {
    const { value } = this
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw this.#mismatch('a map of strings')
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, this.#child(name, item).text()]))
  }

  /** Runs a task, and adds the location to an {@link ArgumentError} that the task throws. */
  locateErrors<T>(task: () => T): T {
    try {
      return task()
    } catch (cause) {
      throw cause instanceof ArgumentError ? this.error(cause.message) : cause
    }
  }

  #mismatch(expected: string, hint = ''): ArgumentError {
    const { value } = this
    const got =
      value !== null && typeof value === 'object' ? (Array.isArray(value) ? 'a list' : 'a map') : formatValue(value)
    return this.error(`Expected ${expected}, got \`${got.slice(0, MAX_SHOWN_LENGTH)}\`${hint}`)
  }

  #child(step: string | number, value: unknown): YamlNode {
    return new YamlNode(value, [...this.#path, step], this.#locate)
  }
}

const formatPath = (path: Path): string =>
  path.map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`)).join('')
