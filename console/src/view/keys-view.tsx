import type { JSX } from 'preact'
import { Grid } from './keys/grid.js'
import { Notice } from './keys/notice.js'
import { lazy } from './lazy.js'
import { useConsole } from './parts/context.js'
import { useCell } from './parts/use-cell.js'

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
