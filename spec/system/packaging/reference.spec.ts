import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { arrange, referencePages } from '../../../scripts/reference.js'
import { API, PARTS } from '../../../site/parts.js'

const ROOT = new URL('../../..', import.meta.url).pathname

const PAGE = `# client

## Classes

<a id="store"></a>

### Store

A store.

#### Type Parameters

| Type Parameter |
| ------ |
| \`T\` |

#### Accessors

##### host

###### Get Signature

\`\`\`ts
get host(): T;
\`\`\`

Its host.

###### Returns

\`T\`

#### Constructors

##### Constructor

\`\`\`ts
new Store(host): Store;
\`\`\`

#### Properties

##### \\[HOST\\]

\`\`\`ts
readonly [HOST]: Host;
\`\`\`

#### Methods

##### close()

###### Inherited from

[\`Base\`](#base)

***

### LostError

Lost.

## Functions

### open()

#### Call Signature

\`\`\`ts
function open(url): Store;
\`\`\`

Opens a store.

##### Returns

[\`Store\`](#store)

##### Example

\`\`\`ts
open('a')
## not a heading
\`\`\`

#### Call Signature

\`\`\`ts
function open(options): Store;
\`\`\`

Opens a store.

##### Returns

[\`Store\`](#store)

##### Example

\`\`\`ts
open('a')
## not a heading
\`\`\`
`

const PART = { page: 'client', entry: 'a-package', guide: 'client', groups: [['Start', ['open', 'Store']]] } as const
const pages = referencePages([arrange(PAGE, PART)])

/** Returns a page of the reference. */
function page(path: string): string {
  const text = pages.get(path)
  if (text === undefined) throw new Error(`There is no page ${path}: ${Array.from(pages.keys()).join(', ')}`)
  return text
}

describe('The API reference', () => {
  it('the overview of an entry lists its names by group, with errors after the groups', () => {
    expect(page('client')).toBe(
      `# a-package

Guide: [client](/client.md).

## Start

- [\`open()\`](/api/client/open.md): Opens a store.
- [\`Store\`](/api/client/store.md): A store.

## Errors

- [\`LostError\`](/api/client/losterror.md): Lost.
`,
    )
  })

  it('each name has a page that leads back to its entry', () => {
    expect(page('client/store')).toMatch(
      /^<a id="store"><\/a>\n\n# Store\n\nExported by \[`a-package`\]\(\/api\/client\.md\)\.\n\nA store\.\n/,
    )
  })

  it('a page shows an example before the parameters, once for all overloads', () => {
    const text = page('client/open')
    expect(text).toMatch(/Opens a store\.\n\n### Example\n\n```ts\nopen\('a'\)\n## not a heading\n```\n\n### Returns/)
    expect(text.match(/Opens a store/g)).toHaveLength(1)
  })

  it('the heading of an overload is its call', () => {
    expect(page('client/open').match(/^## open.+/gm)).toEqual(['## open(url)', '## open(options)'])
  })

  it("an accessor's only signature has no heading, and type parameters have no table", () => {
    expect(page('client/store')).toContain('### host\n\n```ts\nget host(): T;\n```\n\nIts host.\n\n#### Returns\n\n`T`')
    expect(page('client/store')).not.toMatch(/Get Signature|Type Parameter/)
  })

  it('a link to a name leads to the page of that name', () => {
    expect(page('client/open')).toContain('[`Store`](/api/client/store.md#store)')
  })

  it('a page has no constructor without a comment and no member keyed by a symbol of the package', () => {
    expect(page('client/store')).not.toMatch(/Constructor|HOST/)
  })

  it('a page shows an inherited method only at the class that defines it', () => {
    expect(page('client/store')).not.toMatch(/close|Methods/)
  })

  it('a function and a type whose names differ in capitals only share a page', () => {
    const both = `${PAGE}\n***\n\n### store()\n\nReturns the store.\n`
    const merged = referencePages([arrange(both, PART)]).get('client/store')
    expect(merged?.match(/^#+ .+/gm)).toEqual([
      '# store(), Store',
      '## store()',
      '## Store',
      '### Accessors',
      '#### host',
      '##### Returns',
    ])
  })

  it('the build fails for a name that the entry does not export', () => {
    expect(() => arrange(PAGE, { ...PART, groups: [['Start', ['close']]] })).toThrow('a-package does not export close')
  })
})

describe('The table of the API reference', () => {
  it('the table has every entry of the package, with a guide that is on the site', () => {
    const { exports }: { exports: object } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const entries = Object.keys(exports).filter(name => name !== './package.json')
    expect(API.map(({ entry }) => entry.replace('rx-statestore', '.')).sort()).toEqual(entries.sort())
    const pages = PARTS.flatMap(part => part.pages.map(([, page]) => page))
    expect(API.filter(({ guide }) => !pages.includes(guide))).toEqual([])
  })

  it('the table contains only names that are in the API reports', () => {
    const reports = readdirSync(join(ROOT, 'api')).map(name => readFileSync(join(ROOT, 'api', name), 'utf8'))
    const names = API.flatMap(({ groups }) => groups.flatMap(([, members]) => members))
    expect(names.length).toBeGreaterThan(50)
    expect(names.filter(name => !reports.some(report => new RegExp(`\\b${name}\\b`).test(report)))).toEqual([])
  })
})
