import type { JSX } from 'preact'
import { useConsole } from '../context.js'
import { lazy } from '../lazy.js'
import { useCell } from '../use-cell.js'
import { Grid } from './grid.js'
import { Notice } from './notice.js'

const DetailPane = lazy(
  more => more.DetailPane,
  content => (
    <aside class="detail" aria-label="Open key">
      {content}
    </aside>
  ),
)

export function KeysView(): JSX.Element {
  const { list$, open$ } = useConsole()
  const list = useCell(list$)
  const open = useCell(open$)
  return (
    <main class={`keys ${open ? 'keys-open' : ''}`}>
      <section class="keys-list" aria-label="Keys">
        {list.keys.length === 0 ? <Notice list={list} /> : <Grid list={list} open={open?.id} />}
      </section>
      {open && <DetailPane key={open.id} listed={open} />}
    </main>
  )
}
