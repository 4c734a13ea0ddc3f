import fc from 'fast-check'

/** Of a property that does not say how often it is tried; fast-check's own number is 100. */
fc.configureGlobal({ numRuns: 30 })
