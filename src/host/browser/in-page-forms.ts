import type { Dom, PageDom } from './in-page-dom.ts'
import type { PageNames } from './in-page-names.ts'

export type PageForms = ReturnType<typeof pageForms>

/** The forms of a page, and their being held back. Runs in the page. */
export function pageForms(
  { world, of, attributeOf, clean, short }: PageDom,
  { given, shortHash }: PageNames,
  longestUrl: number,
) {
  let fields: { element: Dom; form: Dom }[] = []
  let held = false
  const hold = (event: { preventDefault(): void; stopImmediatePropagation(): void }): void => {
    held = true
    event.preventDefault()
    event.stopImmediatePropagation()
  }
  return {
    begin: (): void => void (fields = []),
    add: (element: Dom, form: Dom): void => void fields.push({ element, form }),
    forms(): { id: string; name: string; action: string; method: string; fields: string[] }[] {
      const known = new Map<Dom, { id: string; name: string; action: string; method: string; fields: string[] }>()
      for (const { element, form } of fields) {
        let entry = known.get(form)
        if (!entry) {
          if (known.size >= 200) continue
          const action = of('HTMLFormElement', 'action')(form)
          const name = short(attributeOf(form, 'aria-label') ?? attributeOf(form, 'name') ?? attributeOf(form, 'id') ?? '')
          entry = {
            id: given.get(form) ?? `f${shortHash(`form|${name}|${attributeOf(form, 'action') ?? ''}|${known.size}`)}`,
            name,
            action: typeof action === 'string' ? clean(action).slice(0, longestUrl) : '',
            method: (attributeOf(form, 'method') ?? 'get').toLowerCase() === 'post' ? 'post' : 'get',
            fields: [],
          }
          given.set(form, entry.id)
          known.set(form, entry)
        }
        const id = given.get(element)
        if (id !== undefined && entry.fields.length < 500) entry.fields.push(id)
      }
      return [...known.values()]
    },
    holdForms(): void {
      held = false
      world['addEventListener']('submit', hold, true)
    },
    letForms(): boolean {
      world['removeEventListener']('submit', hold, true)
      return held
    },
  }
}
