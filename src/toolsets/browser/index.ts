import { allowSites } from './allow-sites.ts'
import { browsePage } from './browse-page.ts'
import { browserAction } from './browser-action.ts'
import { comparePages } from './compare-pages.ts'
import { logIn } from './log-in.ts'
import { nextPage } from './next-page.ts'
import { pageClick } from './page-click.ts'
import { pageExtract } from './page-extract.ts'
import { pageNavigate } from './page-navigate.ts'
import { pageScreenshot } from './page-screenshot.ts'
import { pageSelect } from './page-select.ts'
import { pageSnapshot } from './page-snapshot.ts'
import { pageTabs } from './page-tabs.ts'
import { pageType } from './page-type.ts'
import { pageUpload } from './page-upload.ts'
import { pageWait } from './page-wait.ts'
import { searchPage } from './search-page.ts'
import { submitForm } from './submit-form.ts'
import { useLogin } from './use-login.ts'
import { visitPage } from './visit-page.ts'

/** Looking at what a local server shows and working in pages (developer mode), and what templates do with pages. */
export const browser = [
  browserAction,
  allowSites,
  visitPage,
  searchPage,
  nextPage,
  comparePages,
  submitForm,
  logIn,
  useLogin,
  pageNavigate,
  pageSnapshot,
  pageClick,
  pageType,
  pageSelect,
  pageUpload,
  pageWait,
  pageExtract,
  pageScreenshot,
  pageTabs,
  browsePage,
]
export type { BrowserUse } from './use.ts'
