export { fileStorage } from './file-storage.js'
