export type { Delta } from './delta.js'
export { Shadow, type ShadowOptions, type ShadowState, shadow } from './shadow.js'
