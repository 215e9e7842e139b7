import type { Frame, Locator, Page } from 'playwright-core'
import { Fault } from '../../contracts/faults/fault.ts'

/** How an element is found (seed 002): by a selector, or by the words that a person would call it. */
export type Find = { mode: 'selector'; selector: string } | { mode: 'semantic'; query: string }

/** What it is looked for as. */
export type FindAs = 'field' | 'file' | 'button'

/** What shows that a page is where it should be (seed 002). */
export interface Wait {
  type: 'selector' | 'urlContains' | 'textIncludes' | 'stable'
  value?: string
  timeoutMs?: number
}

const appearMs = 5_000
const waitMs = 10_000
const lookEveryMs = 100

/** The first visible element that fits, in whichever frame; waits a moment for it to appear. */
export async function findElement(page: Page, find: Find, as: FindAs, withinMs = appearMs): Promise<Locator> {
  const until = performance.now() + withinMs
  for (;;) {
    for (const frame of page.frames())
      for (const one of candidates(frame, find, as)) {
        // Fields for files are mostly hidden, behind a button that a page made itself.
        const visible = as === 'file' ? one.first() : one.filter({ visible: true }).first()
        const count = await visible.count().catch((cause: unknown) => {
          if (find.mode === 'selector') throw unusable(find.selector, cause)
          return 0
        })
        if (count > 0) return visible
      }
    if (performance.now() > until) throw notFound(find)
    await page.waitForTimeout(lookEveryMs)
  }
}

/** Whether it came to be in time. */
export async function waitFor(page: Page, { type, value = '', timeoutMs = waitMs }: Wait): Promise<boolean> {
  const came = async (wait: Promise<unknown>): Promise<boolean> => {
    try {
      await wait
      return true
    } catch (cause) {
      if (cause instanceof Error && cause.name === 'TimeoutError') return false
      throw cause
    }
  }
  if (type === 'stable') return true
  if (type === 'urlContains')
    return came(page.waitForURL((url) => url.href.includes(value), { timeout: timeoutMs, waitUntil: 'commit' }))
  if (type === 'textIncludes') return came(page.getByText(value).first().waitFor({ timeout: timeoutMs }))
  return came(page.locator(value).first().waitFor({ timeout: timeoutMs }))
}

const fileFields = 'input[type=file]'

/** From what says it exactly to what only mentions it. */
function candidates(frame: Frame, find: Find, as: FindAs): Locator[] {
  if (find.mode === 'selector') return [frame.locator(find.selector)]
  const name = find.query
  const named = `[name=${JSON.stringify(name)}], [id=${JSON.stringify(name)}]`
  if (as === 'file')
    return [frame.getByLabel(name).and(frame.locator(fileFields)), frame.locator(fileFields).and(frame.locator(named))]
  const fields = 'input:not([type=hidden]):not([type=submit]):not([type=button]), textarea, select, [contenteditable]'
  if (as === 'field')
    return [
      frame.getByLabel(name, { exact: true }).and(frame.locator(fields)),
      frame.getByLabel(name).and(frame.locator(fields)),
      frame.getByPlaceholder(name),
      frame.locator(fields).and(frame.locator(named)),
      frame.getByRole('searchbox', { name }),
    ]
  return [
    frame.getByRole('button', { name, exact: true }),
    frame.getByRole('link', { name, exact: true }),
    frame.getByRole('button', { name }),
    frame.getByRole('link', { name }),
    frame.locator(`button, a, input[type=submit], [role=button]`).and(frame.locator(named)),
    frame.getByText(name, { exact: true }),
  ]
}

function notFound(find: Find): Fault {
  const what = find.mode === 'selector' ? find.selector : find.query
  return new Fault('element-not-found', `Nothing on the page fits ${JSON.stringify(what.slice(0, 200))}`, {
    details: { locator: { mode: find.mode, value: what.slice(0, 200) } },
    hint: 'Look at the page again, then use another selector, or the words that stand on the element.',
  })
}

function unusable(selector: string, cause: unknown): Fault {
  return new Fault('bad-input', `The selector cannot be used: ${selector.slice(0, 200)}`, {
    details: { fields: [{ field: 'selector', problem: 'is no selector' }] },
    hint: 'Use a CSS selector.',
    cause,
  })
}
