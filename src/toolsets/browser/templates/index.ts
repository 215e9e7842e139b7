import type { Template } from '../../../contracts/template.ts'
import { batchExtractPages } from './batch-extract-pages.ts'
import { loginKeepSession } from './login-keep-session.ts'
import { multiTabCompare } from './multi-tab-compare.ts'
import { paginatedExtract } from './paginated-extract.ts'
import { searchExtract } from './search-extract.ts'
import { submitAndVerify } from './submit-and-verify.ts'

/** Templates that drive a browser (seed 002). */
export const browserTemplates: readonly Template[] = [
  batchExtractPages,
  searchExtract,
  paginatedExtract,
  loginKeepSession,
  submitAndVerify,
  multiTabCompare,
]
