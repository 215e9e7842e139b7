import type { Page } from 'playwright-core'
import { Fault } from '../../contracts/faults/fault.ts'
import { filePayload, type UploadedFile } from './upload.ts'
import { inWorld, worldsOf, type PageWorld } from './page-worlds.ts'

interface Found {
  world: PageWorld
  objectId: string
}

/** The element that an id of the last reading means, wherever on the page it is, closed parts and frames included. */
async function find(page: Page, id: string): Promise<Found> {
  for (const world of worldsOf(page)) {
    const { result } = await world.session
      .send('Runtime.evaluate', { contextId: world.context, expression: `handrailReading.element(${JSON.stringify(id)})` })
      .catch(() => ({ result: { objectId: undefined } }))
    if (result.objectId !== undefined) return { world, objectId: result.objectId }
  }
  throw new Fault('element-not-found', `The page has no element ${id.slice(0, 40)}`, {
    hint: (name) => `${name('page_snapshot')} lists what is there now; use the id in ⟦…⟧.`,
  })
}

/** Calls a function on an element, in our own world; it may use nothing from here. */
async function on<T>({ world, objectId }: Found, functionDeclaration: string, ...given: unknown[]): Promise<T> {
  const { result, exceptionDetails } = await world.session.send('Runtime.callFunctionOn', {
    objectId,
    functionDeclaration,
    arguments: given.map((value) => ({ value })),
    returnByValue: true,
    userGesture: true,
  })
  if (exceptionDetails) throw new Fault('page-script', `The element could not be used: ${exceptionDetails.text.slice(0, 200)}`)
  return result.value as T
}

/** Stops forms from being sent while something is done, and says whether one would have been. */
export async function withoutSending(page: Page, maySend: boolean, act: () => Promise<void>): Promise<void> {
  const worlds = worldsOf(page)
  if (maySend) return act()
  const everywhere = <T>(expression: string): Promise<(T | undefined)[]> =>
    Promise.all(worlds.map((world) => inWorld<T>(world, expression).catch(() => undefined)))
  await everywhere('holdForms()')
  await act()
  const held = await everywhere<boolean>('letForms()')
  if (held.includes(true))
    throw new Fault('policy', 'This would send a form, and nothing was sent', {
      hint: 'Say submit: true; the person is asked first.',
    })
}

export async function clickElement(page: Page, id: string): Promise<void> {
  const found = await find(page, id)
  const { x, y } = await middleOf(found)
  await page.mouse.click(x, y)
}

/** Puts text in the place of what a field holds. */
export async function typeInto(page: Page, id: string, text: string): Promise<void> {
  const found = await find(page, id)
  const how = await on<'keys' | 'set' | 'no'>(
    found,
    `function (text) {
      const tag = this.localName
      if (tag !== 'input' && tag !== 'textarea' && !this.isContentEditable) return 'no'
      if (this.disabled || this.readOnly) return 'no'
      this.scrollIntoView({ block: 'center' })
      this.focus()
      const type = tag === 'input' ? this.type : ''
      if (/^(checkbox|radio|file|button|submit|reset|image|hidden)$/.test(type)) return 'no'
      if (/^(date|time|month|week|datetime-local|color|range)$/.test(type)) {
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(this, text)
        for (const name of ['input', 'change']) this.dispatchEvent(new Event(name, { bubbles: true, composed: true }))
        return 'set'
      }
      if (this.isContentEditable) getSelection().selectAllChildren(this)
      else this.select()
      return 'keys'
    }`,
    text,
  )
  if (how === 'no')
    throw new Fault('element-not-found', `Nothing can be typed into ${id}`, {
      hint: (name) =>
        `It is no text field, or is switched off. Lists are for ${name('page_select')}, boxes for ${name('page_click')}.`,
    })
  if (how === 'keys') await (text === '' ? page.keyboard.press('Delete') : page.keyboard.insertText(text))
}

/** Chooses from a list, by what is shown or by value. */
export async function chooseIn(page: Page, id: string, wanted: readonly string[]): Promise<void> {
  const found = await find(page, id)
  const missing = await on<string[] | 'no'>(
    found,
    `function (wanted) {
      if (this.localName !== 'select' || this.disabled) return 'no'
      const options = [...this.options]
      const chosen = wanted.map((one) => options.find((option) => option.text.trim() === one) ?? options.find((option) => option.value === one))
      const missing = wanted.filter((_, at) => !chosen[at])
      if (missing.length > 0) return missing
      for (const option of options) option.selected = chosen.includes(option)
      for (const name of ['input', 'change']) this.dispatchEvent(new Event(name, { bubbles: true, composed: true }))
      return []
    }`,
    wanted,
  )
  if (missing === 'no')
    throw new Fault('element-not-found', `${id} is no list to choose from`, {
      hint: (name) => `Use ${name('page_click')} to open lists that a page made itself.`,
    })
  if (missing.length > 0)
    throw new Fault('bad-input', `The list offers no "${missing.map((one) => one.slice(0, 80)).join('", "')}"`, {
      hint: (name) => `${name('page_snapshot')} shows what it offers.`,
    })
}

/** How soon a click on a button that asks for a file does so. */
const chooserMs = 2_000

/** Puts a file into a file field, in the place of what it held; or into the one that a button of the page opens. */
export async function chooseFile(page: Page, id: string, file: UploadedFile): Promise<void> {
  const found = await find(page, id)
  const { name, mimeType, buffer } = filePayload(file)
  const isField = await on<boolean>(
    found,
    `function (name, type, base64) {
      if (this.localName !== 'input' || this.type !== 'file' || this.disabled) return false
      const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0))
      const chosen = new DataTransfer()
      chosen.items.add(new File([bytes], name, { type }))
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'files').set.call(this, chosen.files)
      for (const event of ['input', 'change']) this.dispatchEvent(new Event(event, { bubbles: true, composed: true }))
      return true
    }`,
    name,
    mimeType,
    buffer.toString('base64'),
  )
  if (isField) return
  const asking = page.waitForEvent('filechooser', { timeout: chooserMs }).catch(() => undefined)
  await clickElement(page, id)
  const chooser = await asking
  if (chooser) await chooser.setFiles({ name, mimeType, buffer })
  else
    throw new Fault('element-not-found', `${id} takes no files`, {
      hint: (name) => `${name('page_snapshot')} shows which fields take files.`,
    })
}

/** Where on the page, as the mouse counts, an element is; scrolled to where it can be seen. */
async function middleOf({ world, objectId }: Found): Promise<{ x: number; y: number }> {
  const { session } = world
  const unseen = (cause?: unknown): Fault =>
    new Fault('element-not-found', 'The element is not to be seen, so it cannot be clicked', {
      hint: (name) => `${name('page_snapshot')} shows what is there now.`,
      cause,
    })
  await session.send('DOM.scrollIntoViewIfNeeded', { objectId }).catch((cause: unknown) => {
    throw unseen(cause)
  })
  const { quads } = await session.send('DOM.getContentQuads', { objectId })
  const quad = quads.find((one) => Math.abs((one[2] as number) - (one[0] as number)) > 0)
  if (!quad) throw unseen()
  let [x, y] = [0, 2, 4, 6].reduce(
    ([sumX, sumY], at) => [sumX + (quad[at] as number) / 4, sumY + (quad[at + 1] as number) / 4] as [number, number],
    [0, 0] as [number, number],
  )
  // A frame in a process of its own counts from its own corner.
  for (let inner = world; inner.parent; inner = inner.parent) {
    if (inner.parent.session === inner.session) continue
    const { backendNodeId } = await inner.parent.session.send('DOM.getFrameOwner', { frameId: inner.frame })
    const { model } = await inner.parent.session.send('DOM.getBoxModel', { backendNodeId })
    x += model.content[0] as number
    y += model.content[1] as number
  }
  return { x, y }
}
