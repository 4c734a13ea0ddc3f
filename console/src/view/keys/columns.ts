/** The columns of the grid, in their order; `name` is that of the style sheet. */
export const COLUMNS = [
  { name: 'key', title: 'Key', hint: undefined },
  { name: 'value', title: 'Value', hint: undefined },
  { name: 'beats', title: 'Last minute', hint: 'A marble for every second with a change' },
  { name: 'age', title: 'Age', hint: 'Since the value was written' },
  { name: 'ttl', title: 'Expires', hint: 'Time to live that is left' },
  { name: 'version', title: 'Version', hint: 'Time and counter of the write' },
  { name: 'token', title: 'Fencing token', hint: 'Version of the lock that protects the key' },
  { name: 'watchers', title: 'Watchers', hint: 'Clients that watch the key, without this page' },
] as const
