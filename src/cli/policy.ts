import { readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { utf8 } from '../core/util/bytes.js'
import { reason } from '../core/util/errors.js'
import { type Policy, parsePolicyFile } from '../server/access/policy.js'
import { type Action, Rights } from '../server/access/rights.js'
import { EXIT, Failure } from './failure.js'
import { attributeOption } from './flags.js'
import { addHelp } from './help.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'

interface CheckFlags {
  readonly as?: string
  readonly clientId?: string
  readonly attribute: Readonly<Record<string, string>>
  readonly can?: (typeof VERBS)[number]
  readonly key?: string
  readonly topic?: string
  readonly json?: true
}

const VERBS = ['Connect', 'Publish', 'Subscribe', 'Read', 'Write'] as const

const HELP = `
Without --can, only checks that the policy is valid. Keys are text.
Exit code 3: the policy does not allow it.

Examples:
  $ rx-statestore policy check policy.yaml
  $ rx-statestore policy check policy.yaml --as panel --client-id panel-7 --can Write --key thermostat1/setPoint
  $ rx-statestore policy check policy.yaml --attribute building=17 --can Subscribe --topic 'commands/17/#'`

export function addPolicy(program: Command, io: Io): void {
  const policy = program.command('policy').summary('check a policy').description('Checks a policy of `serve --policy`.')
  policy.addHelpText(
    'after',
    '\nExample:\n  $ rx-statestore policy check policy.yaml --as panel --can Read --key setPoint',
  )
  const command = policy
    .command('check')
    .summary('show whether a policy allows an action')
    .description('Shows whether a policy allows an action, and which rule decides.')
  command.argument('<file>', 'policy file, YAML')
  command.option('--as <user>', 'user name (none)')
  command.option('--client-id <id>', 'MQTT client id', '')
  command.addOption(attributeOption('attribute of the client; repeatable'))
  command.addOption(new Option('--can <what>', 'action to check').choices(VERBS))
  command.option('--key <key>', 'key, for Read and Write')
  command.option('--topic <topic>', 'topic for Publish, topic filter for Subscribe')
  command.option('--json', 'print the result as a JSON object')
  addHelp(command, io.stdout, { text: HELP })
  command.action(async (file: string) => check(file, command.optsWithGlobals<CheckFlags>(), io))
}

async function check(file: string, flags: CheckFlags, io: Io): Promise<void> {
  const policy = parsePolicyFile(file, read(file))
  if (flags.can === undefined) {
    const count = policy.rules.length
    await print(io.stdout, flags.json ? jsonLine({ rules: count }) : `${count} ${count === 1 ? 'rule' : 'rules'}\n`)
    return
  }
  const { source, rules } = decide(policy, flags)
  await print(
    io.stdout,
    flags.json ? jsonLine({ allowed: source !== undefined, source, rules }) : verdictOf(source, rules),
  )
  if (source === undefined) throw new Failure(EXIT.notMet, '')
}

function decide(policy: Policy, flags: CheckFlags): { source: string | undefined; rules: readonly number[] } {
  const { as: username, clientId = '', attribute: attributes } = flags
  const rights = new Rights(policy, { clientId, username, attributes })
  return { source: rights.sourceOf(actionOf(flags)), rules: rights.ruleIndexes }
}

function actionOf({ can, key, topic }: CheckFlags): Action {
  if (can === 'Connect') return { type: 'connect' }
  if (can === 'Read' || can === 'Write') {
    if (key === undefined) throw new Failure(EXIT.usage, `--can ${can} requires --key`)
    return { type: can === 'Read' ? 'read' : 'write', key: utf8(key) }
  }
  if (topic === undefined) throw new Failure(EXIT.usage, `--can ${can} requires --topic`)
  return can === 'Publish' ? { type: 'publish', topic } : { type: 'subscribe', filter: topic }
}

function verdictOf(source: string | undefined, rules: readonly number[]): string {
  if (source !== undefined) return `allowed by ${source}\n`
  const about = rules.map(rule => `rules[${rule}]`).join(', ')
  if (about === '') return 'denied: no rule applies to this client\n'
  const verb = rules.length === 1 ? 'does' : 'do'
  return `denied: ${about} ${verb} not grant it, and no other rule applies to this client\n`
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new Failure(EXIT.usage, `cannot read the policy: ${reason(cause)}`, { cause })
  }
}
