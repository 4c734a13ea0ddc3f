import { createRequire } from 'node:module'
import { join } from 'node:path'

/**
 * The part of TypeScript's API that is used here. TypeScript 7 lacks this API, and API Extractor has a compiler with
 * it.
 */
interface TypeScript {
  createProgram(
    files: readonly string[],
    options: object,
  ): { getTypeChecker(): Checker; getSourceFile(file: string): unknown }
}
interface Checker {
  getSymbolAtLocation(node: unknown): Symbol | undefined
  getExportsOfModule(symbol: Symbol): readonly Symbol[]
  getAliasedSymbol(symbol: Symbol): Symbol
  getTypeOfSymbol(symbol: Symbol): Type
  getDeclaredTypeOfSymbol(symbol: Symbol): Type
  getPropertiesOfType(type: Type): readonly Symbol[]
}
interface Symbol {
  readonly name: string
  readonly flags: number
}
interface Type {
  readonly typeParameters?: readonly unknown[]
  readonly aliasTypeArguments?: readonly unknown[]
  getCallSignatures(): readonly { readonly minArgumentCount: number }[]
}

const FLAGS = { alias: 2 ** 21, value: 111_551, class: 32, interface: 64, typeAlias: 524_288 }

const load = createRequire(import.meta.url)
const ts: TypeScript = createRequire(load.resolve('@microsoft/api-extractor'))('typescript')

/**
 * Returns programs that use every export of an entry without declaring types: its values, the results of its functions,
 * and the members of its classes and interfaces.
 *
 * @param entries - files of declarations by the names of their entries
 */
export function usesOfExports(entries: Readonly<Record<string, string>>): readonly { name: string; lines: string[] }[] {
  const files = Object.values(entries)
  const options = {
    target: 9,
    module: 199,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.esnext.disposable.d.ts'],
    types: [],
  }
  const program = ts.createProgram(files, { ...options, skipLibCheck: true, strict: true })
  const checker = program.getTypeChecker()
  return Object.entries(entries).map(([name, file]) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file))
    const symbols = module ? checker.getExportsOfModule(module) : []
    const lines = symbols.flatMap(symbol => usesOf(checker, symbol))
    return { name, lines: [`import * as entry from '${join('rx-statestore', name)}'`, ...lines] }
  })
}

function usesOf(checker: Checker, exported: Symbol): string[] {
  const symbol = exported.flags & FLAGS.alias ? checker.getAliasedSymbol(exported) : exported
  const { name } = exported
  const value = symbol.flags & FLAGS.value ? uses(`entry.${name}`, name, checker.getTypeOfSymbol(symbol)) : []
  if (!(symbol.flags & (FLAGS.class | FLAGS.interface | FLAGS.typeAlias))) return value
  const type = checker.getDeclaredTypeOfSymbol(symbol)
  const parameters = (type.typeParameters ?? type.aliasTypeArguments ?? []).map(() => 'never')
  const given = parameters.length > 0 ? `<${parameters.join(', ')}>` : ''
  const members = checker
    .getPropertiesOfType(type)
    .filter(member => /^[\w$]+$/.test(member.name))
    .flatMap(member => uses(`${name}_it.${member.name}`, `${name}_${member.name}`, checker.getTypeOfSymbol(member)))
  return [...value, `declare const ${name}_it: entry.${name}${given}`, ...members]
}

function uses(expression: string, name: string, type: Type): string[] {
  const calls = type.getCallSignatures().slice(0, 1)
  return [
    `export const ${name}_value = ${expression}`,
    ...calls.map(({ minArgumentCount }) => {
      const given = Array.from({ length: minArgumentCount }, () => 'null as never').join(', ')
      return `export const ${name}_result = ${expression}(${given})`
    }),
  ]
}
