import type { Locator } from 'playwright-core'

/** Resolves when the element is visible with this text, and fails with its actual text. */
export async function reads(element: Locator, text: string | RegExp): Promise<void> {
  try {
    await element.filter({ hasText: text, visible: true }).first().waitFor()
  } catch (cause) {
    const found = await element.allInnerTexts()
    throw new Error(`Expected ${element} to read ${text}, it reads ${JSON.stringify(found)}`, { cause })
  }
}

/** Resolves when an attribute of the element has this value, and fails with its actual value. */
export async function has(element: Locator, attribute: string, value: string): Promise<void> {
  try {
    await element
      .and(element.page().locator(`[${attribute}="${value}"]`))
      .first()
      .waitFor({ state: 'attached' })
  } catch (cause) {
    const found = await element.evaluateAll((all, name) => all.map(one => one.getAttribute(name)), attribute)
    throw new Error(`Expected ${attribute} of ${element} to be "${value}", it is ${JSON.stringify(found)}`, { cause })
  }
}

/** Records every text of an element, also those that it shows briefly. The returned function returns all of them. */
export async function recordTexts(element: Locator): Promise<() => Promise<readonly string[]>> {
  const texts = await element.evaluateHandle(observed => {
    const found: string[] = []
    const note = (): void => void found.push(observed.textContent ?? '')
    new MutationObserver(note).observe(observed, { childList: true, characterData: true, subtree: true })
    return found
  })
  return () => texts.jsonValue()
}
