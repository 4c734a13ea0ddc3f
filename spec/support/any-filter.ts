import fc from 'fast-check'

const name = fc.constantFrom('', 'a', 'b', 'ab', '$SYS', 'ä', 'toString', '__proto__')

/** A topic of few names, so that filters match it. */
export const fewTopics = fc
  .array(name, { minLength: 1, maxLength: 4 })
  .map(levels => levels.join('/'))
  .filter(topic => topic !== '')

/** A filter that is in order, for {@link fewTopics}. */
export const fewFilters = fc
  .tuple(fc.array(fc.oneof(name, fc.constant('+')), { minLength: 0, maxLength: 4 }), fc.boolean())
  .map(([levels, all]) => [...levels, ...(all ? ['#'] : [])].join('/'))
  .filter(filter => filter !== '')
