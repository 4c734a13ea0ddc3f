// Code that turns snippets into pages: it mounts a component and gives the page a function `unmount`.

const REACT = `
import { createElement, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { SetPoint } from './set-point'
const root = createRoot(document.querySelector('#root'))
root.render(createElement(StrictMode, null, createElement(SetPoint, { thermostat: 'thermostat1' })))
globalThis.unmount = () => root.unmount()
`

/** The component of the section about writing. */
export const WRITABLE = REACT.replaceAll('SetPoint', 'WritableSetPoint').replace('./set-point', './writable-set-point')

// Angular's template compiler is not installed, so this program renders the text of the template by hand.
const ANGULAR = `
import { createEnvironmentInjector, Injector, runInInjectionContext, \u0275INJECTOR_SCOPE } from '@angular/core'
import { SetPoint } from './set-point.component'
const injector = createEnvironmentInjector([{ provide: \u0275INJECTOR_SCOPE, useValue: 'root' }], Injector.NULL)
const component = runInInjectionContext(injector, () => new SetPoint())
const output = document.querySelector('#root').appendChild(document.createElement('output'))
const paint = () => {
  try {
    output.dataset.freshness = component.freshness().state
    output.textContent = \`\${component.value() ?? '\u2013'} \u00b0C\`
  } catch (error) {
    output.textContent = \`throws \${error.code}\`
  }
  requestAnimationFrame(paint)
}
paint()
globalThis.unmount = () => injector.destroy()
`

const SVELTE = `
import { mount, unmount } from 'svelte'
import SetPoint from './SetPoint.svelte'
const component = mount(SetPoint, { target: document.querySelector('#root'), props: { thermostat: 'thermostat1' } })
globalThis.unmount = () => unmount(component)
`

const VUE = `
import { createApp } from 'vue'
import SetPoint from './SetPoint.vue'
const app = createApp(SetPoint, { thermostat: 'thermostat1' })
app.mount('#root')
globalThis.unmount = () => app.unmount()
`

/** Programs by the section of the document. */
export const PAGES = { React: REACT, Angular: ANGULAR, Svelte: SVELTE, Vue: VUE } as const

/** Server programs, which export `render()` and the store. */
export const SERVERS = {
  Svelte: `
import { render as toHtml } from 'svelte/server'
import SetPoint from './SetPoint.svelte'
export { store } from './store'
export const render = async () => toHtml(SetPoint, { props: { thermostat: 'thermostat1' } }).body
`,
  Vue: `
import { createSSRApp } from 'vue'
import { renderToString } from 'vue/server-renderer'
import SetPoint from './SetPoint.vue'
export { store } from './store'
export const render = () => renderToString(createSSRApp(SetPoint, { thermostat: 'thermostat1' }))
`,
  'On a server': `
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { SetPoint } from './rendered-anywhere'
export const store = undefined
export const render = async () => renderToString(createElement(SetPoint))
`,
} as const
