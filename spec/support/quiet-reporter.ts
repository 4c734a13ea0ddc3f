import { DefaultReporter, type RunnerTask, type RunnerTestFile, type TestModule } from 'vitest/node'

/**
 * A reporter that prints failures and the number of tests. The default would print hundreds of lines for files that
 * pass, and would count slow tests, which `npm test` excludes, as skipped.
 */
export class QuietReporter extends DefaultReporter {
  protected override printTestModule(module: TestModule): void {
    if (!module.ok()) super.printTestModule(module)
  }

  override reportTestSummary(files: RunnerTestFile[], errors: unknown[], leakCount: number): void {
    // A file without any test could not be loaded.
    const counted = files.map(file => (hasTasks(file) ? included(file) : file))
    super.reportTestSummary(
      counted.filter((file, at) => hasTasks(file) || files[at] === file),
      errors,
      leakCount,
    )
  }
}

const isExcluded = (task: RunnerTask): boolean => task.mode === 'skip' && task.tags?.includes('slow') === true

/** Returns a copy of a file or suite without its excluded tests and empty suites. */
const included = <T extends { readonly tasks: RunnerTask[] }>(parent: T): T => ({
  ...parent,
  tasks: parent.tasks
    .filter(task => !isExcluded(task))
    .map(task => ('tasks' in task ? included(task) : task))
    .filter(task => !('tasks' in task) || hasTasks(task)),
})

const hasTasks = ({ tasks }: { readonly tasks: readonly unknown[] }): boolean => tasks.length > 0
