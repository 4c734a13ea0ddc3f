import '../../../design/fonts.css'
import '../../../design/tokens.css'
import '../../../design/states.css'
import { withBase } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import { defineComponent, h } from 'vue'
import { PARTS } from '../../parts.js'
import './style.css'
import './home.css'

/** The element is defined in the browser only, when the reader sees it, because it needs most of the code of a page. */
const LiveMarbles = defineComponent({
  mounted() {
    const observer = new IntersectionObserver(([entry]) => {
      if (!entry?.isIntersecting) return
      observer.disconnect()
      import('../../demo/live-marbles.ts')
    })
    observer.observe(this.$el)
  },
  render: () => h('live-marbles'),
})

const NotFound = () =>
  h('main', { class: 'not-found' }, [
    h('h1', 'There is no page at this address'),
    h('p', 'The search finds pages by their subject.'),
    h(
      'ul',
      PARTS.map(({ title, pages: [first] }) => h('li', h('a', { href: withBase(`/${first?.[1]}`) }, title))),
    ),
  ])

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'not-found': NotFound }),
  /** @param {{ app: import('vue').App }} context */
  enhanceApp: ({ app }) => app.component('LiveMarbles', LiveMarbles),
}
