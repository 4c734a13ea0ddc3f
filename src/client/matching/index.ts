export { Matching, type MatchingOptions, matching } from './matching.js'
