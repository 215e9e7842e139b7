import type { Page } from 'playwright-core'

/** How long each try may take; on a busy machine a page needs a while to end. */
const patience = [300, 600, 1_200, 2_400] as const

/**
 * Closes a page, and closes it again where it stays: Chromium forgets a close that meets a change of the page's document, and
 * the driver asks only once. Never throws, and takes a few seconds at most.
 */
export async function closePage(page: Page): Promise<void> {
  if (page.isClosed()) return
  const closed = new Promise<true>((done) => {
    page.once('close', () => done(true))
  })
  void page.close().catch(() => undefined)
  for (const ms of patience) {
    const timeUp = new Promise<false>((done) => setTimeout(done, ms, false).unref())
    if (await Promise.race([closed, timeUp])) return
    void closeAgain(page)
  }
}

async function closeAgain(page: Page): Promise<void> {
  try {
    const session = await page.context().newCDPSession(page)
    await session.send('Page.close')
  } catch {
    // It has ended meanwhile.
  }
}
