/** As much of a browser as the page uses: text is set, never markup. */
export interface MapElement {
  textContent: string | null
  className: string
  value: string
  hidden: boolean
  type: string
  dataset: Record<string, string | undefined>
  classList: { toggle(name: string, on: boolean): void }
  append(...nodes: MapElement[]): void
  replaceChildren(...nodes: MapElement[]): void
  addEventListener(event: string, listener: (event: MapEvent) => void, options?: { passive: boolean }): void
  setAttribute(name: string, value: string): void
  removeAttribute(name: string): void
  getAttribute(name: string): string | null
  closest(selector: string): MapElement | null
  querySelectorAll(selector: string): Iterable<MapElement>
  getBoundingClientRect(): { left: number; top: number; width: number; height: number }
  setPointerCapture(id: number): void
  focus(options?: { preventScroll: boolean }): void
  scrollTop: number
}
export interface MapEvent {
  target: MapElement
  key: string
  clientX: number
  clientY: number
  deltaY: number
  button: number
  pointerId: number
  ctrlKey: boolean
  metaKey: boolean
  altKey: boolean
  preventDefault(): void
}
export interface MapDocument {
  documentElement: MapElement & { lang: string }
  getElementById(id: string): MapElement | null
  createElement(name: string): MapElement
  createElementNS(space: string, name: string): MapElement
  addEventListener(event: string, listener: (event: MapEvent) => void): void
}
