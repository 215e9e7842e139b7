import type { Dom, PageDom } from './in-page-dom.ts'

/** The names of what can be acted on: made of what it is and says, and kept for as long as it lives. Runs in the page. */
export function pageNames({ world, firstWords, isConnected }: PageDom) {
  const mostNames = 20_000
  const given = new WeakMap<Dom, string>()
  let byId = new Map<string, Dom>()
  let twins = new Map<string, number>()
  const letters: Record<string, string> = {
    link: 'a',
    button: 'b',
    textbox: 't',
    searchbox: 't',
    checkbox: 'c',
    switch: 'c',
    radio: 'r',
    combobox: 's',
    listbox: 's',
    file: 'f',
  }
  /** Sixteen hundred thousand short names. */
  const shortHash = (text: string): string => {
    let [a, b] = [0x811c9dc5, 0x1b873593]
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      a = Math.imul(a ^ code, 0x01000193)
      b = Math.imul(b ^ code, 0x85ebca6b) + a
    }
    return ((a ^ (b >>> 7)) >>> 0).toString(36).padStart(4, '0').slice(-4)
  }
  const nameFor = (element: Dom, role: string, name: string, more: string, row: Dom | null): string | undefined => {
    const known = given.get(element)
    if (known !== undefined) {
      byId.set(known, element)
      return known
    }
    if (byId.size >= mostNames) return undefined
    const base = (letters[role] ?? 'x') + shortHash(`${role}|${name}|${more}|${row ? firstWords(row) : ''}`)
    let id = base
    // Another that is alive has it already, though it may not have been come to yet. Many may: each is counted on from the last.
    for (let twin = twins.get(base) ?? 2; byId.has(id) || taken.has(id); twin++) {
      id = `${base}-${twin}`
      twins.set(base, twin + 1)
    }
    given.set(element, id)
    byId.set(id, element)
    taken.set(id, new world['WeakRef'](element))
    return id
  }
  /** Every name that was ever given here and whose element still stands. */
  const taken = new Map<string, { deref(): Dom | undefined }>()
  const forgetGone = (): void => {
    for (const [id, kept] of taken) {
      const element = kept.deref()
      if (!element || !isConnected(element)) taken.delete(id)
    }
  }
  return {
    given,
    shortHash,
    nameFor,
    element: (id: string): Dom | null => byId.get(id) ?? null,
    /** For a new walk. */
    begin(): void {
      byId = new Map()
      twins = new Map()
      forgetGone()
    },
  }
}

export type PageNames = ReturnType<typeof pageNames>
