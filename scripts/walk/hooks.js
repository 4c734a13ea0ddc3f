// A module hook that makes every function of the built package record its name when it is called.

import { parseAst } from 'rolldown/parseAst'

const DIST = new URL('../../dist/', import.meta.url).href
/** The package with one file per source file, which `npm run walk` compiles. */
const WALKED = new URL('../../target/walk/', import.meta.url).href
const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** @type {(name: string, context: object, next: Function) => Promise<{ url: string }>} */
export async function resolve(name, context, next) {
  const resolved = await next(name, context)
  return { ...resolved, url: resolved.url.replace(DIST, WALKED) }
}

/** @type {(url: string, context: object, next: Function) => Promise<{ format: string, source?: unknown }>} */
export async function load(url, context, next) {
  const loaded = await next(url, context)
  if (!url.startsWith(WALKED) || !url.endsWith('.js') || loaded.source == null) return loaded
  const text = Buffer.from(/** @type {Uint8Array} */ (loaded.source)).toString()
  return { ...loaded, source: instrument(text, url.slice(WALKED.length, -'.js'.length)) }
}

/** @param {string} text @param {string} file */
function instrument(text, file) {
  /** @type {{ at: number, insert: string }[]} */
  const edits = []
  visit(parseAst(text), '', (node, name) => {
    const call = `globalThis.walked?.(${JSON.stringify(file)},${JSON.stringify(name)})`
    const { body } = node
    if (body.type === 'BlockStatement') edits.push({ at: body.start + 1, insert: `${call};` })
    else edits.push({ at: body.start, insert: `(${call},` }, { at: body.end, insert: ')' })
  })
  let out = ''
  let from = 0
  for (const { at, insert } of edits.sort((a, b) => a.at - b.at)) {
    out += text.slice(from, at) + insert
    from = at
  }
  return out + text.slice(from)
}

/**
 * Finds all functions below a node, each with the name of its variable or property, or of the enclosing function.
 *
 * @param {any} node @param {string} name @param {(node: any, name: string) => void} found
 */
function visit(node, name, found) {
  if (Array.isArray(node)) for (const each of node) visit(each, name, found)
  if (typeof node?.type !== 'string') return
  const own = FUNCTIONS.has(node.type) && node.id?.name
  const given = node.key?.name ?? (node.type === 'VariableDeclarator' ? node.id?.name : undefined)
  const inner = own || given || name
  if (FUNCTIONS.has(node.type) && node.body) found(node, inner || 'anonymous')
  for (const [key, child] of Object.entries(node)) if (key !== 'parent') visit(child, inner, found)
}
