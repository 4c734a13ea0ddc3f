import { compile } from 'svelte/compiler'
import type { Plugin } from 'vite'
import { compileScript, parse } from 'vue/compiler-sfc'

export const compilers = (isServer: boolean): readonly Plugin[] => [
  {
    name: 'svelte',
    transform: (code, id) =>
      id.endsWith('.svelte')
        ? compile(code, { filename: id, generate: isServer ? 'server' : 'client', dev: true }).js
        : null,
  },
  {
    name: 'vue',
    transform(code, id) {
      if (!id.endsWith('.vue')) return null
      const { descriptor } = parse(code, { filename: id })
      const templateOptions = { ssr: isServer, ssrCssVars: [] }
      const script = compileScript(descriptor, { id: 'set-point', inlineTemplate: true, templateOptions })
      return { code: script.content, moduleType: 'ts' }
    },
  },
]
