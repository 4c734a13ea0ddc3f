/** The columns of the grid, which always have the same place. Class names contain `name`. */
export const COLUMNS = [
  { name: 'key', title: 'Key', hint: undefined },
  { name: 'value', title: 'Value', hint: undefined },
  { name: 'activity', title: 'Activity', hint: 'Changes of the last minute' },
  { name: 'age', title: 'Age', hint: 'Time since the last write' },
  { name: 'ttl', title: 'Expires', hint: 'Remaining time to live' },
  { name: 'watchers', title: 'Watchers', hint: 'Clients watching the key, without this page' },
] as const
