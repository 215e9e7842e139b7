/** As much of the DOM as the walk uses; this program is otherwise not made for pages. */
export interface Dom {
  nodeType: number
  data: string
  localName: string
  namespaceURI: string | null
  isConnected: boolean
  ownerDocument: Dom
  documentElement: Dom | null
  shadowRoot: Dom | null
  style: Record<string, string>
}
type Getter = (of: Dom) => unknown
interface Box {
  left: number
  top: number
  right: number
  bottom: number
  width: number
  height: number
}

/**
 * The ways to the page that are ours: every property is taken from where the browser defines it, because fields named `firstChild` lie over
 * a form's own. Runs in the page, and so uses nothing from outside itself.
 */
export function pageDom() {
  const world = globalThis as unknown as Record<string, any> // oxlint-disable-line typescript/no-explicit-any
  const document = world['document'] as Dom
  const of = (type: string, property: string): Getter => {
    const get = Object.getOwnPropertyDescriptor(world[type].prototype, property)?.get
    return (node) => (get && node instanceof world[type] ? get.call(node) : undefined)
  }
  const call = (type: string, method: string): ((on: Dom, ...given: unknown[]) => unknown) => {
    const does = world[type].prototype[method] as (...given: unknown[]) => unknown
    return (on, ...given) => does.call(on, ...given)
  }
  const nodeGet = (property: string): ((node: Dom) => Dom | null) => {
    const get = Object.getOwnPropertyDescriptor(world['Node'].prototype, property)?.get
    return (node) => get?.call(node) as Dom | null
  }
  const firstChild = nodeGet('firstChild')
  const nextSibling = nodeGet('nextSibling')
  const parentNode = nodeGet('parentNode')
  const typeOf = nodeGet('nodeType') as unknown as (node: Dom) => number
  const shadowOf = of('Element', 'shadowRoot')
  const nameOf = of('Element', 'localName') as (node: Dom) => string
  const spaceOf = of('Element', 'namespaceURI')
  const dataOf = of('CharacterData', 'data') as (node: Dom) => string
  const attributeOf = call('Element', 'getAttribute') as (node: Dom, name: string) => string | null
  const query = call('Element', 'querySelector') as (node: Dom, selector: string) => Dom | null
  const boxOf = call('Element', 'getBoundingClientRect') as unknown as (node: Dom) => Box
  const assigned = call('HTMLSlotElement', 'assignedNodes') as unknown as (node: Dom) => Dom[]
  const styleOf = world['getComputedStyle'] as (node: Dom) => Record<string, string>
  const now = (): number => world['performance'].now() as number
  /** Closed parts that the driver opened for us, by the element they belong to. */
  const closedParts = new Map<Dom, Dom>()
  const partOf = (node: Dom): Dom | null =>
    (shadowOf(node) as Dom | null) ?? (closedParts.size > 0 ? (closedParts.get(node) ?? null) : null)
  const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g
  const clean = (text: string): string => text.replace(controls, '')
  const short = (text: string, length = 120): string => {
    const line = clean(text).replace(/\s+/g, ' ').trim()
    return line.length > length ? `${line.slice(0, length - 1)}…` : line
  }
  const skipped = new Set(
    'script style template noscript head meta link base title param source track area map datalist rp optgroup option colgroup col defs desc metadata symbol clippath lineargradient radialgradient filter mask pattern marker'.split(
      ' ',
    ),
  )
  /** The first words in a row or an item, which tell its buttons from those of the next. */
  const firstWords = (within: Dom): string => {
    let [words, node, steps] = ['', firstChild(within), 0]
    while (node && words.length < 60 && steps++ < 60) {
      if (typeOf(node) === 3) words += dataOf(node)
      let next: Dom | null = typeOf(node) === 1 && !skipped.has(nameOf(node)) ? firstChild(node) : null
      while (!next && node && node !== within) {
        next = nextSibling(node)
        if (!next) node = parentNode(node)
      }
      node = next
    }
    return short(words, 60)
  }
  return {
    world,
    document,
    of,
    call,
    firstChild,
    nextSibling,
    parentNode,
    isConnected: nodeGet('isConnected') as unknown as (node: Dom) => boolean,
    typeOf,
    nameOf,
    spaceOf,
    dataOf,
    attributeOf,
    query,
    boxOf,
    assigned,
    styleOf,
    now,
    closedParts,
    partOf,
    clean,
    short,
    skipped,
    firstWords,
  }
}

export type PageDom = ReturnType<typeof pageDom>
