import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../../../support/temporary-folder.js'

const ROOT = new URL('../../../..', import.meta.url).pathname

/** The strict settings of users with a bundler. */
const TSCONFIG = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    skipLibCheck: true,
    target: 'es2022',
    lib: ['es2022', 'dom', 'esnext.disposable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    types: ['node'],
    jsx: 'react-jsx',
    experimentalDecorators: true,
    paths: {
      'rx-statestore': [join(ROOT, 'src/client/index.ts')],
      'rx-statestore/lease': [join(ROOT, 'src/client/lease/index.ts')],
      'rx-statestore/optimistic/react': [join(ROOT, 'src/client/react/writable.ts')],
      'rx-statestore/react': [join(ROOT, 'src/client/react/index.ts')],
    },
  },
  include: ['*.ts', '*.tsx'],
}

export interface Snippet {
  readonly section: string
  readonly file: string
  readonly code: string
}

/** Returns the files of the document, which are the code blocks that start with a comment with a file name. */
export function snippets(): readonly Snippet[] {
  const document = readFileSync(join(ROOT, 'docs/frameworks.md'), 'utf8')
  const sections = document.split(/^#+ /m).map(text => ({ title: text.slice(0, text.indexOf('\n')), text }))
  return sections.flatMap(({ title, text }) =>
    Array.from(text.matchAll(/```\w+\n(?:\/\/|<!--) ([\w.-]+\.\w+)(?: -->)?\n([\s\S]*?)```/g), ([, file, code]) => ({
      section: title,
      file: file ?? '',
      code: code ?? '',
    })),
  )
}

/**
 * Creates a project with these files, in which all installed packages resolve. The project is removed at the end of the
 * test.
 */
export function projectOf(files: readonly Pick<Snippet, 'file' | 'code'>[]): string {
  const folder = temporaryFolder()
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG))
  for (const { file, code } of files) writeFileSync(join(folder, file), code)
  return folder
}
