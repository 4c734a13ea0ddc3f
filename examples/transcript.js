import pc from 'picocolors'

const COLOURS = {
  store: pc.magenta,
  hub: pc.magenta,
  ann: pc.cyan,
  bob: pc.green,
  panel: pc.cyan,
  thermostat: pc.green,
  link: pc.red,
  nodes: pc.magenta,
  nats: pc.yellow,
  standby: pc.yellow,
  operator: pc.red,
  'pump-1': pc.green,
  'pump-2': pc.cyan,
  'pump-3': pc.yellow,
}

/** @typedef {keyof typeof COLOURS} Actor */

const started = performance.now()

/**
 * Prints a line of the transcript: time, actor, event and, for values, their version and source.
 *
 * @param {Actor} actor
 * @param {string} what
 * @param {{ version?: unknown, source?: string }} [about]
 */
export function say(actor, what, { version, source } = {}) {
  const time = `${((performance.now() - started) / 1000).toFixed(2)} s`.padStart(8)
  const columns = [pc.dim(time), COLOURS[actor](actor.padEnd(10)), what.padEnd(50)]
  if (version !== undefined || source !== undefined) columns.push(pc.dim(String(version ?? '').padEnd(27)))
  if (source !== undefined) columns.push(pc.bold(source))
  console.log(columns.join('  ').trimEnd())
}

/** @param {string} title */
export const heading = title => console.log(`\n${pc.bold(title)}`)

/**
 * Checks a claim of an example, and throws if it does not hold.
 *
 * @param {string} claim
 * @param {unknown} actual
 * @param {unknown} expected
 */
export function check(claim, actual, expected) {
  const holds = JSON.stringify(actual) === JSON.stringify(expected)
  console.log(`${' '.repeat(10)}${holds ? pc.green('✓') : pc.red('✗')} ${claim}`)
  if (!holds) throw new Error(`${claim}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`)
}
