import { writeFileSync } from 'node:fs'
import type { Reporter, SerializedError, TestModule } from 'vitest/node'

/** A file with a failed test, or an error outside of its tests. */
export interface FailedFile {
  readonly project: string
  readonly path: string
  /** The first failed test and its message. */
  readonly failure: string
}

/** A run's failures. `scripts/test-all.js` reads them. */
export interface FailedRun {
  readonly files: readonly FailedFile[]
  /** Messages of errors that belong to no file. */
  readonly errors: readonly string[]
}

/** A reporter that writes a run's failures to a file. */
export class FailedFilesReporter implements Reporter {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const pathOf = (error: SerializedError): unknown => error['VITEST_TEST_PATH']
    const files = modules.flatMap(module => {
      const failure = failureOf(module) ?? unhandled.find(error => pathOf(error) === module.moduleId)?.message
      return failure === undefined ? [] : [{ project: module.project.name, path: module.moduleId, failure }]
    })
    const known = new Set<unknown>(files.map(({ path }) => path))
    const errors = unhandled.filter(error => !known.has(pathOf(error))).map(({ message }) => message)
    writeFileSync(this.#path, JSON.stringify({ files, errors } satisfies FailedRun))
  }
}

function failureOf(module: TestModule): string | undefined {
  if (module.ok()) return undefined
  for (const test of module.children.allTests('failed'))
    return `${test.fullName}: ${test.result().errors?.[0]?.message.split('\n', 1)[0] ?? 'failed'}`
  return module.errors()[0]?.message ?? 'a hook failed'
}
