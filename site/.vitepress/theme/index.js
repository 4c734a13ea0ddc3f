import '../../../design/fonts.css'
import '../../../design/tokens.css'
import '../../../design/states.css'
import { withBase } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import { defineComponent, h } from 'vue'
import './style.css'
import './home.css'

/** The element is defined in the browser only, after the page has been painted. */
const LiveMarbles = defineComponent({
  mounted: () => import('../../demo/live-marbles.ts'),
  render: () => h('live-marbles'),
})

const NotFound = () =>
  h('main', { class: 'not-found' }, [
    h('h1', 'There is no page at this address'),
    h('p', 'The search finds pages by their subject.'),
    h('p', h('a', { href: withBase('/') }, 'To the first page')),
  ])

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'not-found': NotFound }),
  /** @param {{ app: import('vue').App }} context */
  enhanceApp: ({ app }) => app.component('LiveMarbles', LiveMarbles),
}
