import type { PageElement } from '../../text/page-reading/blocks.ts'
import type { Dom, PageDom } from './in-page-dom.ts'
import type { PageFields } from './in-page-fields.ts'
import type { PageForms } from './in-page-forms.ts'
import type { PageNames } from './in-page-names.ts'
import type { Inherited, Level, PageWriter } from './in-page-writer.ts'

export type PageActs = ReturnType<typeof pageActs>

/** What can be acted on: links, buttons, fields. Runs in the page. */
export function pageActs(
  { world, of, attributeOf, nameOf, clean, short }: PageDom,
  { nameFor }: PageNames,
  { labelOf, fieldOf }: PageFields,
  forms: PageForms,
  out: PageWriter,
  longestUrl: number,
) {
  const roles = new Set(
    'button checkbox combobox menuitem menuitemcheckbox menuitemradio option radio searchbox slider spinbutton switch tab textbox treeitem'.split(
      ' ',
    ),
  )
  /** What it says, and what it is called where that is a sign and no word. */
  const calledBy = (element: Dom, said: string): string => {
    const label = short(attributeOf(element, 'aria-label') ?? attributeOf(element, 'title') ?? '')
    // Of links it is mostly said over and over: "Permanent link".
    if (said === '' || label === '' || nameOf(element) === 'a' || /[\p{L}\p{N}]/u.test(said)) return said || label
    out.say(` ${label}`)
    return label
  }
  const acts = {
    elements: [] as PageElement[],
    /** Those that have no id because there are so many. */
    unnamed: 0,
    begin(): void {
      acts.elements = []
      acts.unnamed = 0
    },
    enterField(at: Level, tag: string, role: string | null): void {
      const { element } = at
      const field = fieldOf(element, tag, role)
      if (!field) return
      if (of('Element', 'ariaDisabled')(element) === 'true' || attributeOf(element, 'disabled') !== null) field.disabled = true
      const more = `${field.type ?? ''}|${attributeOf(element, 'name') ?? ''}|${field.role === 'radio' ? (field.value ?? '') : ''}`
      give(field, at, more)
      out.say(` \u0001E${acts.elements.push(field) - 1}\u0002\u0003 `)
      out.words++
    },
    /** Whether it is a link, a button, or something else to act on. */
    enter(at: Level, outer: Inherited, tag: string, role: string | null, style: Record<string, string>): boolean {
      if (outer.acts) return false
      const { element } = at
      const href = tag === 'a' ? (of('HTMLAnchorElement', 'href')(element) as string | undefined) : undefined
      const isLink =
        href !== undefined && href !== '' && attributeOf(element, 'href') !== null && /^(https?|mailto|tel|ftp):/.test(href)
      if (isLink) {
        enterLink(at, href)
        return true
      }
      const isButton =
        tag === 'button' || (role !== null && roles.has(role)) || (tag === 'a' && href !== '' && href !== undefined)
      const isEditable =
        role !== 'textbox' &&
        attributeOf(element, 'contenteditable') !== null &&
        of('HTMLElement', 'isContentEditable')(element) === true
      const isClickable =
        tag !== 'label' &&
        style['cursor'] === 'pointer' &&
        (attributeOf(element, 'tabindex') !== null || attributeOf(element, 'onclick') !== null)
      if (isButton) {
        // Not a block of its own.
        if (at.inline === 0) at.inline = 2
        enterButton(at, role !== null && roles.has(role) ? role : 'button')
      } else if (isEditable) enterButton(at, 'textbox')
      else if (isClickable) enterButton(at, 'clickable')
      return isButton || isEditable || isClickable
    },
  }
  const give = (item: PageElement, { element, row, form }: Level, more: string): void => {
    const id = nameFor(element, item.role, item.name, more, row)
    if (id === undefined) acts.unnamed++
    else item.id = id
    if (item.role !== 'link' && id !== undefined && form) forms.add(element, form)
  }
  /** A page has the same ids wherever it is served. */
  const onSite = (href: string): string => {
    const site = `${String(world['location'].origin)}/`
    return href.startsWith(site) ? href.slice(site.length - 1) : href
  }
  const enterLink = (at: Level, href: string): void => {
    at.acts = true
    const item: PageElement = { id: '', role: 'link', name: '', url: clean(href).slice(0, longestUrl) }
    const index = acts.elements.push(item) - 1
    const mark = out.mark(`\u0001L${index}\u0002`, true)
    const [from, block] = [out.length(), out.blocks.length]
    out.after(at, () => {
      const said = out.blocks.length === block ? out.saidSince(from) : out.plain(out.blocks[block]?.text ?? '')
      item.name = calledBy(at.element, said)
      if (!mark.started && !mark.done && !at.unseen) {
        out.say(item.name)
        if (item.name === '') {
          out.push(`\u0001L${index}\u0002`)
          mark.started = true
          out.words++
        }
      }
      give(item, at, onSite(href).slice(0, 300))
      out.unmark(mark)
    })
  }
  const enterButton = (at: Level, role: string): void => {
    const { element } = at
    at.acts = true
    const item: PageElement = { id: '', role, name: '' }
    const pressed =
      attributeOf(element, 'aria-checked') ?? attributeOf(element, 'aria-pressed') ?? attributeOf(element, 'aria-selected')
    if (pressed !== null) item.checked = pressed === 'true'
    const expanded = attributeOf(element, 'aria-expanded')
    if (expanded !== null) item.expanded = expanded === 'true'
    if (attributeOf(element, 'disabled') !== null || attributeOf(element, 'aria-disabled') === 'true') item.disabled = true
    const index = acts.elements.push(item) - 1
    const mark = out.mark(`\u0001B${index}\u0002`, true)
    const [from, block] = [out.length(), out.blocks.length]
    out.after(at, () => {
      const said = out.blocks.length === block ? out.saidSince(from) : ''
      item.name = calledBy(element, said) || labelOf(element).words
      if (!mark.started && !mark.done && !at.unseen) {
        out.say(item.name)
        if (item.name === '') {
          out.push(`\u0001B${index}\u0002`)
          mark.started = true
        }
        out.words++
      }
      give(item, at, attributeOf(element, 'name') ?? '')
      out.unmark(mark)
    })
  }
  return acts
}
