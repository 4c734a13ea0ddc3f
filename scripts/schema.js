// Writes the JSON schemas of the settings files of `serve` and `attach` into schema/: `npm run schema`.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

const ROOT = new URL('..', import.meta.url).pathname
const BUNDLE = join(ROOT, 'node_modules/.cache/rx-statestore-schema/schemas.js')

const build = await rolldown({
  input: join(ROOT, 'src/cli/config-schema.ts'),
  platform: 'node',
  external: /^[^./]/,
  logLevel: 'silent',
})
await build.write({ file: BUNDLE, codeSplitting: false })
await build.close()
const { SCHEMAS } = await import(BUNDLE)
mkdirSync(join(ROOT, 'schema'), { recursive: true })
for (const [name, schema] of Object.entries(SCHEMAS))
  writeFileSync(join(ROOT, 'schema', name), `${JSON.stringify(schema, null, 2)}\n`)
