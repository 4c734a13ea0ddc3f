import { DefaultReporter, type TestModule } from 'vitest/node'

/**
 * A reporter that prints failures and the number of tests. The default would print hundreds of lines for files that
 * pass.
 */
export class QuietReporter extends DefaultReporter {
  protected override printTestModule(module: TestModule): void {
    if (!module.ok()) super.printTestModule(module)
  }
}
