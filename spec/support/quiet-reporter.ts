import { DefaultReporter, type TestModule } from 'vitest/node'

/** Says what failed and how many tests there were; a line for each file that is fine would be hundreds. */
export class QuietReporter extends DefaultReporter {
  protected override printTestModule(module: TestModule): void {
    if (!module.ok()) super.printTestModule(module)
  }
}
