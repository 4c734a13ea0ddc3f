/** Gives the focus to the search, if it is there. */
export const focusSearch = (page: Document): void => page.querySelector<HTMLElement>('#search')?.focus()

/** Gives the focus to the row the Tab key leads to, or to the search when there is no row. */
export function focusList(page: Document): void {
  const row = page.querySelector<HTMLElement>('.grid-body [tabindex="0"]')
  if (row === null) focusSearch(page)
  else row.focus({ preventScroll: true })
}
