/** What the page shows, as its address has it. */
export type Route =
  | { readonly view: 'keys'; readonly id?: string }
  | { readonly view: 'clients' }
  | { readonly view: 'store' }

/** The route of a fragment; that of the keys for an unknown one. */
export function toRoute(fragment: string): Route {
  const [, view, id] = /^#?\/(keys|clients|store)(?:\/([0-9A-F]{2,}))?$/.exec(fragment) ?? []
  if (view === 'clients' || view === 'store') return { view }
  return id === undefined ? { view: 'keys' } : { view: 'keys', id }
}

/** The fragment of a route. */
export const toFragment = (route: Route): string =>
  route.view === 'keys' && route.id !== undefined ? `#/keys/${route.id}` : `#/${route.view}`
