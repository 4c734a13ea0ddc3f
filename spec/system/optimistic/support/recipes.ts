import { readFileSync } from 'node:fs'
import type { Plugin } from 'vite'
import { expect } from 'vitest'

const DOCUMENT = readFileSync(new URL('../../../../docs/writing.md', import.meta.url), 'utf8')
/** The entry of a bundle that {@link recipes} provides. */
export const ENTRY = 'recipes'
/** Declarations that the recipes assume. */
const PRELUDE = `
  import { fromEvent, map } from 'rxjs'
  import { boolean, connect, json, number } from 'rx-statestore'
  import { optimistic } from 'rx-statestore/optimistic'
  const store = connect(new URLSearchParams(location.search).get('store'))
  store.status$.subscribe(({ state }) => { document.title = state })
  const schema = { '~standard': { version: 1, vendor: 'page', validate: value => ({ value }) } }
`
/** Elements that the recipes use. */
export const BODY = `
  <input id="slider" type="range" min="0" max="100" value="50">
  <button id="button">pump</button>
  <dialog id="dialog" open><form id="form"><input name="degrees"><button id="save">save</button></form><p id="saved"></p></dialog>
  <input id="input"><button id="add">add</button>
  <p id="note"></p>
`

/** Provides the recipes of `docs/writing.md` as one program. */
export function recipes(): Plugin {
  const [, section = ''] = DOCUMENT.split('\n## Recipes\n')
  const snippets = Array.from(section.matchAll(/```js\n([\s\S]*?)```/g), ([, code = '']) => `{\n${code}}\n`)
  expect(snippets).toHaveLength(4)
  return {
    name: ENTRY,
    resolveId: id => (id.endsWith(ENTRY) ? `\0${ENTRY}` : undefined),
    load: id => (id === `\0${ENTRY}` ? PRELUDE + snippets.join('') : undefined),
  }
}
