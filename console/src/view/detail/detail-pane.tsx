import type { JSX } from 'preact'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { displayText, toHex } from '../../../../src/core/util/bytes.js'
import type { ListedKey } from '../../model/listed-key.js'
import { missingReason } from '../../model/missing-reason.js'
import { previewValue } from '../../model/value.js'
import { type Detail, EMPTY_DETAIL, shownFreshness, watchDetail } from '../../state/detail.js'
import { EMPTY_ROW, type Row } from '../../state/row-cache.js'
import { useConsole } from '../parts/context.js'
import { Icon } from '../parts/icon.js'
import { KeyText } from '../parts/key-text.js'
import { useActions } from '../parts/use-actions.js'
import { useCell, useObservable } from '../parts/use-cell.js'
import { ChartSection } from './chart-section.js'
import { Facts } from './facts.js'
import { HistoryList } from './history-list.js'
import { ValueBlock } from './value-block.js'

/** Length of a name from which its heading may scroll, and so must be reachable by keyboard. */
const MAX_UNSCROLLED_CHARS = 60

export function DetailPane({ listed: key }: { readonly listed: ListedKey }): JSX.Element {
  const { navigate, rows$, dialog$, store$, health$, now } = useConsole()
  const detail$ = useMemo(
    () => watchDetail(store$, key, now, () => rows$.value.get(key.id)?.expiresAt),
    [store$, key, now, rows$],
  )
  const row = useCell(rows$).get(key.id) ?? EMPTY_ROW
  const detail = withRowEntry(useObservable(detail$, EMPTY_DETAIL), row)
  const { history, freshness } = detail
  const heading = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => heading.current?.focus({ preventScroll: true }), [])
  const value = history.entry?.value
  const isStale = shownFreshness(freshness, useCell(health$)).state !== 'live'
  return (
    <aside class={`detail ${isStale ? 'detail-stale' : ''}`} aria-label="Open key">
      <div class="detail-head">
        <button
          type="button"
          class="icon-button detail-close"
          aria-label="Close"
          onClick={() => navigate({ view: 'keys' })}
        >
          <Icon name="close" />
        </button>
        <h2 ref={heading} tabIndex={key.name.length > MAX_UNSCROLLED_CHARS ? 0 : -1}>
          <KeyText name={key.name} />
        </h2>
        <CopyKey listed={key} />
        <button
          type="button"
          class="button"
          disabled={history.entry === undefined}
          onClick={() => dialog$.next({ type: 'set', key })}
        >
          <Icon name="edit" />
          Edit
        </button>
        <button
          type="button"
          class="button"
          disabled={value === undefined}
          onClick={() => value && dialog$.next({ type: 'delete', key, value })}
        >
          <Icon name="trash" />
          Delete
        </button>
        <CopyButton value={value} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it must scroll by keyboard */}
      <section class="detail-body" aria-label="Details" tabIndex={0}>
        <CurrentValue detail={detail} row={row} />
        <Facts detail={detail} row={row} />
        <ChartSection history={history} />
        <HistoryList history={history} />
      </section>
    </aside>
  )
}

/** Shows the entry of the list until the key has been read, which may take a long time if the store is frozen. */
const withRowEntry = (detail: Detail, { entry }: Row): Detail =>
  detail.history.entry === undefined && entry !== undefined
    ? { ...detail, history: { ...detail.history, entry } }
    : detail

const MISSING_TEXTS = {
  'not found': 'Key not found.',
  expired: 'The key has expired.',
  deleted: 'The key was deleted.',
} as const

interface CurrentValueProps {
  readonly detail: Detail
  readonly row: Row
}

function CurrentValue({ detail: { history, freshness }, row: { expiresAt } }: CurrentValueProps): JSX.Element {
  const { entry } = history
  if (freshness.state === 'refused') return <p class="detail-none">The store does not let this page read the key.</p>
  if (entry === undefined) return <p class="detail-none">Loading…</p>
  if (entry.value === undefined) {
    return <p class="detail-none">{MISSING_TEXTS[missingReason(entry, expiresAt)]}</p>
  }
  const { kind, line } = previewValue(entry.value)
  if (kind === 'number' || kind === 'boolean' || kind === 'empty') {
    return (
      <p key={history.total} class={`detail-number value-${kind} ${history.total > 1 ? 'flash' : ''}`}>
        {line}
      </p>
    )
  }
  return <ValueBlock value={entry.value} kind={kind} />
}

function CopyKey({ listed: { name } }: { readonly listed: ListedKey }): JSX.Element {
  const actions = useActions()
  return (
    <button
      type="button"
      class="icon-button detail-copy-key"
      aria-label="Copy key"
      title="Copy key"
      onClick={() => actions.copy(name, 'key')}
    >
      <Icon name="copy" />
    </button>
  )
}

function CopyButton({ value }: { readonly value: Uint8Array | undefined }): JSX.Element {
  const actions = useActions()
  const copy = (bytes: Uint8Array): void => {
    const { kind, line } = previewValue(bytes)
    actions.copy(
      kind === 'binary' ? toHex(bytes) : displayText(bytes),
      kind === 'binary' ? 'as hex' : line.slice(0, 40),
    )
  }
  return (
    <button type="button" class="button" disabled={value === undefined} onClick={() => value && copy(value)}>
      <Icon name="copy" />
      Copy
    </button>
  )
}
