/**
 * Returns an element of the page. Throws if the element does not exist.
 *
 * @param {string} selector
 * @param {ParentNode} [root]
 */
export function find(selector, root = document) {
  const found = root.querySelector(selector)
  if (found === null) throw new Error(`The page has no ${selector}`)
  return found
}
