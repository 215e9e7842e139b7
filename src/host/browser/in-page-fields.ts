import type { PageElement } from '../../text/page-reading/blocks.ts'
import type { Dom, PageDom } from './in-page-dom.ts'

/** What the fields of forms are called, hold and offer. Runs in the page. */
export function pageFields({ of, call, document, attributeOf, short, firstWords }: PageDom) {
  const mostOptions = 200
  const secret = /pass(word|wd|phrase|code)?$|secret|token|otp|cvv|cvc|\bpin\b|one-time-code|cc-(number|csc)/i
  const labelOf = (element: Dom): { words: string; shown: boolean } => {
    const labels =
      of('HTMLInputElement', 'labels')(element) ??
      of('HTMLSelectElement', 'labels')(element) ??
      of('HTMLTextAreaElement', 'labels')(element)
    const label = (labels as Dom[] | undefined)?.[0]
    if (label) return { words: firstWords(label), shown: true }
    const by = attributeOf(element, 'aria-labelledby')
    const other = by ? (call('Document', 'getElementById')(document, by.trim().split(/\s+/)[0]) as Dom | null) : null
    if (other) return { words: firstWords(other), shown: true }
    for (const name of ['aria-label', 'placeholder', 'title', 'name', 'alt']) {
      const words = attributeOf(element, name)
      if (words && words.trim() !== '') return { words: short(words), shown: false }
    }
    return { words: '', shown: false }
  }

  const fieldOf = (element: Dom, tag: string, role: string | null): PageElement | null => {
    const { words, shown } = labelOf(element)
    const record: PageElement = { id: '', role: role ?? 'textbox', name: words, ...(shown && { labelled: true }) }
    if (tag === 'input') {
      const type = of('HTMLInputElement', 'type')(element) as string
      if (type === 'hidden') return null
      record.type = type
      if (type === 'checkbox' || type === 'radio') {
        record.role = type
        record.checked = of('HTMLInputElement', 'checked')(element) === true
        const value = attributeOf(element, 'value')
        if (type === 'radio' && value) record.value = short(value)
      } else if (type === 'submit' || type === 'button' || type === 'reset' || type === 'image') {
        record.role = 'button'
        record.name = short(
          (of('HTMLInputElement', 'value')(element) as string) || words || (type === 'submit' ? 'Submit' : type),
        )
        delete record.labelled
      } else {
        record.role = type === 'search' ? 'searchbox' : type === 'file' ? 'file' : (role ?? 'textbox')
        record.value = short(of('HTMLInputElement', 'value')(element) as string, 200)
      }
    } else if (tag === 'select') {
      record.role = of('HTMLSelectElement', 'multiple')(element) ? 'listbox' : 'combobox'
      const options = of('HTMLSelectElement', 'options')(element) as unknown as ArrayLike<Dom>
      const chosen = of('HTMLSelectElement', 'selectedOptions')(element) as unknown as ArrayLike<Dom>
      const text = of('HTMLOptionElement', 'text') as (option: Dom) => string
      record.options = []
      for (let at = 0; at < Math.min(options.length, mostOptions); at++) record.options.push(short(text(options[at] as Dom), 80))
      if (options.length > mostOptions) record.moreOptions = options.length - mostOptions
      record.value = ''
      for (let at = 0; at < Math.min(chosen.length, 20); at++)
        record.value += (at ? ', ' : '') + short(text(chosen[at] as Dom), 80)
    } else if (tag === 'textarea') {
      record.type = 'multiline'
      record.value = short(of('HTMLTextAreaElement', 'value')(element) as string, 500)
    }
    const kind = `${record.type ?? ''} ${attributeOf(element, 'autocomplete') ?? ''} ${attributeOf(element, 'name') ?? ''}`
    if (
      record.type === 'password' ||
      (record.value && record.role === 'textbox' && kind.split(' ').some((word) => secret.test(word)))
    )
      if (record.value) record.value = '•••'
    if (record.value === '') delete record.value
    if (attributeOf(element, 'required') !== null) record.required = true
    return record
  }
  return { labelOf, fieldOf }
}

export type PageFields = ReturnType<typeof pageFields>
