export const focusSearch = (page: Document): void => page.querySelector<HTMLElement>('#search')?.focus()

/** Focuses the active row, or the search if there is no active row. */
export function focusList(page: Document): void {
  const row = page.querySelector<HTMLElement>('.grid-body [tabindex="0"]')
  if (row === null) focusSearch(page)
  else row.focus({ preventScroll: true })
}
