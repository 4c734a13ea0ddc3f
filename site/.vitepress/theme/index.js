import '../../../design/fonts.css'
import '../../../design/tokens.css'
import DefaultTheme from 'vitepress/theme-without-fonts'
import { defineComponent, h } from 'vue'
import './style.css'
import './home.css'

/** The element is defined in the browser only, after the page has been painted. */
const LiveMarbles = defineComponent({
  mounted: () => import('../../demo/live-marbles.ts'),
  render: () => h('live-marbles'),
})

export default {
  extends: DefaultTheme,
  /** @param {{ app: import('vue').App }} context */
  enhanceApp: ({ app }) => app.component('LiveMarbles', LiveMarbles),
}
