import fc from 'fast-check'
import { seed } from './seed.ts'

// Before every test file: properties draw from the seed of the run as well.
fc.configureGlobal({ seed })
