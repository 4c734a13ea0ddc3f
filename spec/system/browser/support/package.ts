import { inject } from 'vitest'

/** Returns the folder of the package with its examples, built from the current sources. */
export const builtPackage = (): string => inject('package')
