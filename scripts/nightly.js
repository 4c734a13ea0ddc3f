// Runs the checks that take too long for every change: `npm run nightly`, or some of them: `npm run nightly -- fuzz
// chaos`. `--list` prints the names of all. The seed is random and printed; `SEED=n` repeats it. `--from FILE` names the
// packed package of the previous version for `upgrade`.
import { spawn } from 'node:child_process'
import { mkdirSync, openSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs, styleText } from 'node:util'

const MINUTES = 60_000
/** @param {...string} files */
const vitest = (...files) => ['npx', 'vitest', 'run', '--mode', 'all', ...files]
/** @param {string} main @param {...string} flags */
const chaos = (main, ...flags) => ['node', `chaos/target/chaos/${main}`, '--minutes', '20', ...flags]
/** @param {...string} flags */
const soak = (...flags) => ['node', 'chaos/target/chaos/soak/main.js', '--minutes', '30', ...flags]

/** Selects the larger numbers of `nightly` in spec/support/effort.ts. */
const MANY = { EFFORT: 'nightly' }

/**
 * The commands that each step adds to `npm run test:all`. The steps run one after the other, because each uses all
 * cores.
 *
 * @type {Readonly<Record<string, { readonly command: readonly string[], readonly env?: Readonly<Record<string, string>> }>>}
 */
const STEPS = {
  simulations: { command: ['node', 'scripts/simulate.js', '--minutes', '60'] },
  specs: { command: vitest(), env: MANY },
  fuzz: { command: vitest('spec/system/attacks/fuzz'), env: { FUZZ_PACKETS: '10000000' } },
  hivemq: { command: vitest('spec/system/interop/hivemq'), env: { HIVEMQ: '1' } },
  toolchains: { command: vitest('spec/system/frameworks/toolchains'), env: { TOOLCHAINS: '1' } },
  background: { command: vitest('spec/system/browser/background'), env: { BACKGROUND: '1' } },
  chaos: { command: chaos('main.js') },
  'chaos-data': { command: chaos('main.js', '--data') },
  'chaos-mosquitto': { command: chaos('main.js', '--mosquitto') },
  'chaos-cluster': { command: chaos('cluster/main.js') },
  'chaos-pubsub': { command: chaos('pubsub/main.js') },
  sweep: { command: ['npm', 'run', 'sweep', '--', '--minutes', '60'] },
  soak: { command: soak() },
  'soak-data': { command: soak('--data') },
  'soak-log': { command: soak('--log') },
  upgrade: { command: vitest('spec/system/upgrade') },
}
const LOGS = 'coverage/nightly'

const { positionals: words, values } = parseArgs({
  allowPositionals: true,
  options: { list: { type: 'boolean' }, from: { type: 'string' } },
})
process.env['SEED'] ??= String(Math.floor(Math.random() * 2 ** 31))
if (values.from !== undefined) process.env['UPGRADE_FROM'] = resolve(values.from)
if (values.list) {
  for (const name of Object.keys(STEPS)) console.info(name)
  process.exit()
}
const unknown = words.find(word => !(word in STEPS))
if (unknown !== undefined) {
  console.error(`no such step: ${unknown}; expected ${Object.keys(STEPS).join(', ')}`)
  process.exit(2)
}

/**
 * Runs a step and writes its output to a file. Resolves to the exit code.
 *
 * @param {string} name
 * @param {string} log
 * @returns {Promise<number>}
 */
function run(name, log) {
  const { command: [program = '', ...args] = [], env = {} } = STEPS[name] ?? {}
  const file = openSync(log, 'w')
  const child = spawn(program, args, { stdio: ['ignore', file, file], env: { ...process.env, ...env } })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', code => resolve(code ?? 1))
  })
}

mkdirSync(LOGS, { recursive: true })
console.info(`SEED=${process.env['SEED']}`)
let failures = 0
for (const name of words.length > 0 ? words : Object.keys(STEPS)) {
  if (name === 'upgrade' && process.env['UPGRADE_FROM'] === undefined) {
    console.info(`${name.padEnd(18)}skipped: needs --from FILE, the packed package of the previous version`)
    continue
  }
  const log = `${LOGS}/${name}.log`
  const start = performance.now()
  process.stdout.write(`${name.padEnd(18)}`)
  const code = await run(name, log)
  if (code !== 0) failures++
  const verdict = code === 0 ? styleText('green', 'passed') : styleText('red', `failed (${code})`)
  console.info(`${verdict}  ${((performance.now() - start) / MINUTES).toFixed(1)} min  ${log}`)
}
process.exitCode = failures > 0 ? 1 : 0
