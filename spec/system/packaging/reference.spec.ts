import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { arrange } from '../../../scripts/reference.js'
import { API, PARTS } from '../../../site/parts.js'

const ROOT = new URL('../../..', import.meta.url).pathname

const PAGE = `# client

## Classes

<a id="store"></a>

### Store

A store.

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

const arranged = arrange(PAGE, { entry: 'a-package', guide: 'client', groups: [['Start', ['open', 'Store']]] })

describe('A page of the API reference', () => {
  it('a page begins with the first group and has errors after the groups', () => {
    expect(arranged.match(/^#{1,3} (?!not).+/gm)).toEqual([
      '# a-package',
      '## Start',
      '### open()',
      '### Store',
      '## Errors',
      '### LostError',
    ])
    expect(arranged).toContain('<a id="store"></a>\n\n### Store\n\nA store.\n\n## Errors')
  })

  it('a page shows an example before the parameters, once for all overloads', () => {
    expect(arranged).toMatch(
      /Opens a store\.\n\n##### Example\n\n```ts\nopen\('a'\)\n## not a heading\n```\n\n##### Returns/,
    )
    expect(arranged.match(/Opens a store/g)).toHaveLength(1)
    expect(arranged.match(/Call Signature/g)).toHaveLength(2)
  })

  it('a page has no constructor without a comment and no member keyed by a symbol of the package', () => {
    expect(arranged).not.toMatch(/Constructor|HOST/)
  })

  it('a page shows an inherited method only at the class that defines it', () => {
    expect(arranged).not.toMatch(/close|Methods/)
  })

  it('building a page fails for a name that the entry does not export', () => {
    expect(() => arrange(PAGE, { entry: 'a-package', guide: 'client', groups: [['Start', ['close']]] })).toThrow(
      'a-package does not export close',
    )
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
