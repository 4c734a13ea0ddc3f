// Runs all specs, and then each file that failed once more, alone. A file that passes then is flaky. The run fails if a
// file fails twice, if more than two files are flaky, or if less than 95 % of the lines are covered.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

const MAX_FLAKY = 2
/** More failed files are a broken change, and running them again would only take time. */
const MAX_REPEATED = 10
const COVERAGE = ['--coverage', '--coverage.reportOnFailure', '--coverage.thresholds.lines=95']

const root = resolve(import.meta.dirname, '..')
const report = join(root, 'target', 'failed-files.json')

/**
 * Runs vitest, and returns its exit code.
 *
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 */
function vitest(args, env = {}) {
  const command = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--mode', 'all', ...args]
  return (
    spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } }).status ?? 1
  )
}

function coveredLines() {
  const summary = JSON.parse(readFileSync(join(root, 'coverage/coverage-summary.json'), 'utf8'))
  return summary.total.lines.pct
}

mkdirSync(join(root, 'target'), { recursive: true })
rmSync(report, { force: true })
const code = vitest([...COVERAGE, ...process.argv.slice(2)], { FAILED_FILES: report })
/** @type {import('../spec/support/failed-files-reporter.js').FailedRun} */
const { files, errors } = JSON.parse(readFileSync(report, 'utf8'))
if (files.length === 0 || errors.length > 0 || files.length > MAX_REPEATED) process.exit(code)

const flaky = files.filter(({ project, path }) => vitest(['--project', project, path]) === 0)
const broken = files.filter(file => !flaky.includes(file))
/** @param {typeof files} list */
const names = list => list.map(({ path, failure }) => `  ${relative(root, path)}\n    ${failure}\n`).join('')
if (flaky.length > 0) console.error(`\nflaky, passed when run again alone:\n${names(flaky)}`)
if (broken.length > 0) console.error(`\nfailed twice:\n${names(broken)}`)
const lines = coveredLines()
if (lines < 95) console.error(`\nonly ${lines} % of the lines are covered`)
process.exit(broken.length > 0 || flaky.length > MAX_FLAKY || lines < 95 ? 1 : 0)
