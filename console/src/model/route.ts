export type Route =
  | { readonly view: 'keys'; readonly id?: string }
  | { readonly view: 'clients' }
  | { readonly view: 'store' }
  | { readonly view: 'metrics' }

/** Parses a URL fragment. The default is the keys view. */
export function toRoute(fragment: string): Route {
  const [, view, id] = /^#?\/(keys|clients|store|metrics)(?:\/([0-9A-F]{2,}))?$/.exec(fragment) ?? []
  if (view === 'clients' || view === 'store' || view === 'metrics') return { view }
  return id === undefined ? { view: 'keys' } : { view: 'keys', id }
}

export const toFragment = (route: Route): string =>
  route.view === 'keys' && route.id !== undefined ? `#/keys/${route.id}` : `#/${route.view}`
