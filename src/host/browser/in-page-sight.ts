import type { Dom, PageDom } from './in-page-dom.ts'

/** What of an element's looks holds for what is in it. */
export interface Looks {
  opacity: number
  /** What is behind the words, where that is one colour. */
  behind: string | null
  /** The words are drawn by what is behind them. */
  clipped: boolean
  /** In the colour of what is behind them. */
  faint: boolean
  /** Its own words are not to be seen, though those of elements in it may be. */
  unseen: boolean
}

/** Whether a person sees an element, as it is laid out now. Runs in the page. */
export function pageSight({ world, document, of, styleOf, boxOf }: PageDom) {
  const root = of('Document', 'documentElement')(document) as Dom | null
  const rightToLeft = root !== null && styleOf(root)['direction'] === 'rtl'
  const page = {
    x: world['scrollX'] as number,
    y: world['scrollY'] as number,
    width: Math.max(world['innerWidth'] as number, root === null ? 0 : (of('Element', 'scrollWidth')(root) as number)),
  }
  const clippedAway = /^rect\((0px|1px)[, ]+(0px|1px)[, ]+(0px|1px)[, ]+(0px|1px)\)$/
  const colour = (value: string): [number, number, number, number] | null => {
    const parts = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(value)
    return parts ? [Number(parts[1]), Number(parts[2]), Number(parts[3]), parts[4] === undefined ? 1 : Number(parts[4])] : null
  }
  /** Out of the page, where no scrolling leads. */
  const isOutside = (element: Dom, isFixed: boolean): boolean => {
    const box = boxOf(element)
    const [x, y] = isFixed ? [0, 0] : [page.x, page.y]
    const isAway = box.bottom + y <= 0 || (box.right + x <= 0 && !rightToLeft) || box.left + x >= page.width
    return isAway && box.width * box.height > 0
  }
  /** Nothing in it is seen either. */
  const isHidden = (element: Dom, tag: string, style: Record<string, string>, opacity: number): boolean => {
    const display = style['display']
    // Empty outside what is laid out: in an element with a closed part, and in no slot of it.
    if (display === 'none' || display === '') return true
    // Boxes that a page draws itself lie over its drawing, and are what is clicked.
    if (tag === 'input' && /^(checkbox|radio|file)$/.test(of('HTMLInputElement', 'type')(element) as string)) return false
    if (opacity < 0.05) return true
    const position = style['position']
    const isPlaced = position === 'absolute' || position === 'fixed'
    const isMoved = style['transform'] !== 'none' || style['translate'] !== 'none' || style['scale'] !== 'none'
    if (isMoved) {
      const box = boxOf(element)
      if (box.width * box.height === 0) return true
    }
    if ((isPlaced || isMoved) && isOutside(element, position === 'fixed')) return true
    if (isPlaced && clippedAway.test(style['clip'] as string)) return true
    if (parseFloat(style['textIndent'] as string) < -500) return true
    if (/^(inset\((50|100)%|circle\(0)/.test(style['clipPath'] as string)) return true
    if (tag === 'html' || tag === 'body' || (style['overflowX'] === 'visible' && style['overflowY'] === 'visible')) return false
    const box = boxOf(element)
    return box.width <= 1 || box.height <= 1
  }
  const looksOf = (style: Record<string, string>, outer: Looks): Looks => {
    const { behind, clipped } = outer
    const at: Looks = { opacity: outer.opacity * Number(style['opacity']), behind, clipped, faint: false, unseen: false }
    at.unseen = style['visibility'] !== 'visible' || parseFloat(style['fontSize'] as string) <= 2
    // The words may be drawn by what is behind them.
    at.clipped = outer.clipped || (style['backgroundClip'] ?? '').includes('text')
    const back = colour(style['backgroundColor'] as string)
    if (style['backgroundImage'] !== 'none') at.behind = null
    else if (!back) at.behind = null
    else if (back[3] > 0.95) at.behind = back.slice(0, 3).join()
    else if (back[3] > 0.02) at.behind = null
    const ink = colour((style['webkitTextFillColor'] ?? style['color']) as string)
    if (ink && !at.clipped) {
      if (ink[3] < 0.05) at.unseen = true
      else if (at.behind !== null && ink[3] > 0.95) {
        const other = at.behind.split(',').map(Number)
        at.faint =
          Math.abs(ink[0] - (other[0] as number)) +
            Math.abs(ink[1] - (other[1] as number)) +
            Math.abs(ink[2] - (other[2] as number)) <
          12
      }
    }
    return at
  }
  return { isHidden, looksOf }
}
