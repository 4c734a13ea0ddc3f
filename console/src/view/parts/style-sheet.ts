/**
 * Creates the style sheet of a chunk. It is part of the chunk's code, so that a server that fails in between cannot leave
 * views without styles.
 */
export function styleSheet(css: string): CSSStyleSheet {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(css)
  return sheet
}

/** Adds a style sheet to the page, once. */
export function adopt(sheet: CSSStyleSheet): void {
  if (!document.adoptedStyleSheets.includes(sheet)) document.adoptedStyleSheets.push(sheet)
}
