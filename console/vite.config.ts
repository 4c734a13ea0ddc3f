import { defaultClientConditions, defineConfig, type Plugin } from 'vite'
import { licences } from '../scripts/licences.js'

const at = (path: string): string => new URL(path, import.meta.url).pathname

const OURS = at('./src/mqtt.ts')
const THEIRS = at('../node_modules/mqtt/dist/mqtt.esm.js')

/** Resolves `mqtt` to src/mqtt.ts and, inside that file, to the browser build of mqtt.js. */
const mqtt: Plugin = {
  name: 'mqtt',
  enforce: 'pre',
  resolveId: (name, importer) => (name !== 'mqtt' ? undefined : importer === OURS ? THEIRS : OURS),
}

export default defineConfig({
  root: at('.'),
  base: './',
  plugins: [mqtt, licences('licences.md', at('.'))],
  resolve: {
    // The ES2015 build of RxJS is smaller.
    conditions: ['es2015', ...defaultClientConditions],
    alias: { 'rx-statestore': at('../src/client/index.ts') },
  },
  // The value does not depend on NODE_ENV, which is `test` when specs build the page.
  define: { 'process.env.NODE_ENV': '"production"' },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
  build: {
    outDir: at('../dist/server/console/page'),
    emptyOutDir: true,
    target: 'es2022',
    // Browsers with `light-dark()`.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
  },
})
