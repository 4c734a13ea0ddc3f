import { defaultClientConditions, defineConfig, type Plugin } from 'vite'
import { licences } from '../scripts/licences.js'

const at = (path: string): string => new URL(path, import.meta.url).pathname

const OURS = at('./src/mqtt.ts')
const THEIRS = at('../node_modules/mqtt/dist/mqtt.esm.js')

/** Gives src/mqtt.ts to the library, and the build of mqtt.js for browsers to that. */
const mqtt: Plugin = {
  name: 'mqtt',
  enforce: 'pre',
  resolveId: (name, importer) => (name !== 'mqtt' ? undefined : importer === OURS ? THEIRS : OURS),
}

export default defineConfig({
  root: at('.'),
  base: './',
  plugins: [mqtt, licences('licences.md')],
  resolve: {
    // RxJS is smaller in the language of today.
    conditions: ['es2015', ...defaultClientConditions],
    alias: { 'rx-statestore': at('../src/client/index.ts') },
  },
  // The same whatever NODE_ENV is, such as `test` where specs build.
  define: { 'process.env.NODE_ENV': '"production"' },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
  build: {
    outDir: at('../dist/server/console/page'),
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
  },
})
