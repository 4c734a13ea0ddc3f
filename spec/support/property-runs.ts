import fc from 'fast-check'
import { effort, SEED } from './effort.js'

fc.configureGlobal({ numRuns: effort(100, 30), seed: SEED })
