import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { displayText, toHex } from '../../../../src/core/util/bytes.js'
import { goneWord } from '../../model/gone.js'
import type { ListedKey } from '../../model/listed-key.js'
import { show } from '../../model/value.js'
import { type Detail, UNREAD, watchDetail } from '../../state/detail.js'
import { BLANK, type Row } from '../../state/row-book.js'
import { useConsole } from '../context.js'
import { Icon } from '../icon.js'
import { KeyText } from '../key-text.js'
import { useActions } from '../use-actions.js'
import { useCell, useObservable } from '../use-cell.js'
import { ChartSection } from './chart-section.js'
import { Facts } from './facts.js'
import { HistoryList } from './history-list.js'
import { ValueBlock } from './value-block.js'

/** The open key: all of its value, what is known of it, and what happened to it since it was opened. */
export function DetailPane({ listed: key }: { readonly listed: ListedKey }): JSX.Element {
  const { go, rows$, dialog$, store$, now } = useConsole()
  const detail$ = useMemo(() => watchDetail(store$, key, now), [store$, key, now])
  const row = useCell(rows$).get(key.id) ?? BLANK
  const detail = withKnown(useObservable(detail$, UNREAD), row)
  const { seen, freshness } = detail
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus({ preventScroll: true }), [])
  const value = seen.entry?.value
  const stale = freshness.state !== 'live'
  return (
    <aside class={`detail ${stale ? 'detail-stale' : ''}`} aria-label="Open key">
      <div class="detail-head">
        <button type="button" class="icon-button detail-close" aria-label="Close" onClick={() => go({ view: 'keys' })}>
          <Icon name="close" />
        </button>
        <h2 ref={heading} tabIndex={-1}>
          <KeyText name={key.name} />
        </h2>
        <CopyKey listed={key} />
        <button
          type="button"
          class="button"
          disabled={seen.entry === undefined}
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
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and needs the keyboard for it */}
      <section class="detail-body" aria-label="What is known of it" tabIndex={0}>
        <Now detail={detail} />
        <Facts detail={detail} row={row} />
        <ChartSection seen={seen} />
        <HistoryList seen={seen} />
      </section>
    </aside>
  )
}

/** Until the key is read, what the list has of it: a store that stands still may not let it be read for long. */
const withKnown = (detail: Detail, { entry }: Row): Detail =>
  detail.seen.entry === undefined && entry !== undefined ? { ...detail, seen: { ...detail.seen, entry } } : detail

const GONE = {
  'no such key': 'There is no such key.',
  expired: 'The key has expired.',
  deleted: 'The key was deleted.',
} as const

function Now({ detail: { seen } }: { readonly detail: Detail }): JSX.Element {
  const { entry } = seen
  if (entry === undefined) return <p class="detail-none">Reading…</p>
  if (entry.value === undefined) {
    return <p class="detail-none">{GONE[goneWord(entry)]}</p>
  }
  const { kind, line } = show(entry.value)
  if (kind === 'number' || kind === 'boolean' || kind === 'empty') {
    return (
      <p key={seen.total} class={`detail-number value-${kind} ${seen.total > 1 ? 'flash' : ''}`}>
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
      aria-label="Copy the key"
      title="Copy the key"
      onClick={() => actions.copy(name, 'the key')}
    >
      <Icon name="copy" />
    </button>
  )
}

function CopyButton({ value }: { readonly value: Uint8Array | undefined }): JSX.Element {
  const actions = useActions()
  const copy = (bytes: Uint8Array): void => {
    const { kind, line } = show(bytes)
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
