import { inject } from 'vitest'

/** Folder of the package as it is built from the sources of now, with its examples. */
export const builtPackage = (): string => inject('package')
