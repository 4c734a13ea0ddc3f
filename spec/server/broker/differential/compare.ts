import { generateScript } from './generate-script.js'
import { runScript, type Target, type Transcript } from './run-script.js'
import { CLIENTS, type Flavour, type Script, type Step } from './script.js'

/** Describes the first difference between two brokers. Returns `undefined` if there is none. */
export async function difference(script: Script, [one, other]: readonly [Target, Target]): Promise<string | undefined> {
  const [first, second] = await Promise.allSettled([runScript(one, script), runScript(other, script)])
  if (first.status === 'rejected') return `${one.name}: ${first.reason}`
  if (second.status === 'rejected') return `${other.name}: ${second.reason}`
  return firstDifference(script, [one.name, first.value], [other.name, second.value])
}

function firstDifference(
  { steps }: Script,
  [one, first]: readonly [string, Transcript],
  [other, second]: readonly [string, Transcript],
): string | undefined {
  for (const [index, step] of steps.entries()) {
    for (const client of [...CLIENTS, 'a group'] as const) {
      const [mine, theirs] = [first[index]?.[client] ?? [], second[index]?.[client] ?? []]
      if (mine.join('\n') === theirs.join('\n')) continue
      const list = (lines: readonly string[]): string => lines.map(line => `\n      ${line}`).join('') || ' nothing'
      return `step ${index + 1}, ${shownStep(step)}\n  received by ${client}\n    ${one}:${list(mine)}\n    ${other}:${list(theirs)}`
    }
  }
  return undefined
}

/**
 * Shrinks a failing script by dropping steps as long as the script still fails. The first attempts drop many steps at a
 * time.
 */
export async function shrink(script: Script, targets: readonly [Target, Target]): Promise<Script> {
  let { steps } = script
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < steps.length; ) {
      const fewer = [...steps.slice(0, at), ...steps.slice(at + size)]
      if ((await difference({ ...script, steps: fewer }, targets)) === undefined) at += size
      else steps = fewer
    }
  }
  return { ...script, steps }
}

async function report(script: Script, targets: readonly [Target, Target]): Promise<string> {
  const small = await shrink(script, targets)
  const shown = small.steps.map((step, index) => `  ${index + 1}. ${shownStep(step)}`).join('\n')
  const found = (await difference(small, targets)) ?? 'not reproduced in a separate run'
  return `SEED=${script.seed} (${script.flavour}), ${small.steps.length} of ${script.steps.length} steps:\n${shown}\n${found}`
}

export interface Outcome {
  readonly steps: number
  readonly differences: readonly string[]
}

export interface Extent {
  readonly flavour: Flavour
  readonly first: number
  readonly count: number
  readonly enough?: number
}

/** The number of scripts that run concurrently, each with separate topics and clients. */
const CONCURRENCY = 24

export async function compareAll(
  targets: readonly [Target, Target],
  { flavour, first, count, enough: maxDifferences = 1 }: Extent,
): Promise<Outcome> {
  const failing: Script[] = []
  let steps = 0
  let next = first
  const lane = async (): Promise<void> => {
    while (next < first + count && failing.length < maxDifferences) {
      const script = generateScript(flavour, next++)
      steps += script.steps.length
      if ((await difference(script, targets)) !== undefined) failing.push(script)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, lane))
  const differences: string[] = []
  for (const script of failing.slice(0, maxDifferences)) differences.push(await report(script, targets))
  return { steps, differences }
}

function shownStep(step: Step): string {
  const { do: what, client, ...rest } = step
  return `${client}: ${what} ${JSON.stringify(rest)}`
}
