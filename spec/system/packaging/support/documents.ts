import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = new URL('../../../..', import.meta.url).pathname

/** A document whose snippets run, with their expected output. */
export interface Document {
  readonly file: string
  /** The heading from which snippets are run. Earlier snippets need a browser and run in spec/system/frameworks. */
  readonly from?: string
  /** Whether all snippets form one program, which runs until a signal. Default `false`. */
  readonly isOneProgram?: boolean
  readonly outputs: readonly RegExp[]
}

export const DOCUMENTS: readonly Document[] = [
  {
    file: 'README.md',
    isOneProgram: true,
    outputs: [/^(set point undefined\n)?(set point 21.5\n)?written \d+:\d+:StateStore\n(set point 21.5\n)?$/],
  },
  {
    file: 'docs/client.md',
    outputs: [
      /^connecting\n[\s\S]*set \{ name: 'pump' \} \d+:\d+:StateStore/,
      /\[ true, true \]/,
      /^\[ 'pump' \]\nthermostat1\/setPoint\n$/,
      /^(readings \{\}\n)?readings \{ 'reading\/1': 20 \}\n$/,
    ],
  },
  { file: 'docs/choosing.md', outputs: [/^true\n$/, /^true\n$/, /^3\n$/] },
  { file: 'docs/cheat-sheet.md', isOneProgram: true, outputs: [/argument\n[\s\S]*0 0\n/] },
  {
    file: 'docs/pubsub.md',
    outputs: [
      /^ann says \{ celsius: 21 \}\n$/,
      /^connected\nanswer 42\nNotFound\n(disconnected\n)?$/,
      /^line-1 missed for [\d.]+ ms: read its state again\n$/,
      /^absent {2}snapshot\nset 21 notification\nForbidden\n\[ 'thermostat1\/setPoint' \]\n$/,
    ],
  },
  { file: 'docs/deploying.md', outputs: [/^\[ 'cellar', 'roof' \]\n$/] },
  { file: 'docs/security.md', outputs: [/^login accepted\nrefused write\nnot-authorized\n$/, /^$/] },
  {
    file: 'docs/locking.md',
    outputs: [/^true\n$/, /^held\ndone\n$/, /^mine until 59\d+\.?\d* ms from now\n$/, /^true\n$/],
  },
  { file: 'docs/writing.md', outputs: [/^undefined connecting\n21 pending\n22 pending\n[\s\S]*applied \d+:/] },
  { file: 'docs/requests.md', outputs: [/^first (.+)\nsecond \1\n21\n21\n$/, /^1000\n$/, /^3\n$/] },
  { file: 'docs/shadows.md', outputs: [/^turning to \{ setPoint: 21 \}\nsettled true\n$/] },
  { file: 'docs/testing.md', outputs: [/^heating at 22\n$/, /^20\n$/] },
  {
    file: 'docs/coming-from-mqtt.md',
    outputs: [
      /^set point undefined\ntrue\n(set point 21.5\n)?$|^true\n(set point 21.5\n)?$/,
      /^connecting\n(live\n)?closed\n$/,
    ],
  },
  { file: 'docs/troubleshooting.md', outputs: [/^connecting\n$/, /^alive\nsilent\n$/] },
  { file: 'docs/observability.md', outputs: [/^true\n$/, /^SET thermostat1\/setPoint succeeded\n$/, /^$/, /^$/] },
  { file: 'docs/console.md', outputs: [/^21\.5\ntrue\nreconnecting\nabsent\n\[ 'thermostat1\/setPoint 23' \] 0\n$/] },
  {
    file: 'docs/frameworks.md',
    from: '## Without RxJS',
    outputs: [/^set 21\nset 22\nstill 22\naborted\n$/, /^true\n$/],
  },
]

/** Returns the TypeScript snippets of a document. */
export function snippetsOf({ file, from = '', isOneProgram = false }: Document): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const snippets = Array.from(text.slice(text.indexOf(from)).matchAll(/```ts\n([\s\S]*?)```/g), ([, code = '']) => code)
  return isOneProgram ? [`${snippets.join('\n')}\nprocess.exit()\n`] : snippets
}
