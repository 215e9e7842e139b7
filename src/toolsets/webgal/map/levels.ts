/** How far from the start each name stands: behind everything that leads to it, except what leads back. */
export function levelsOf(names: readonly string[], edges: readonly (readonly [string, string])[]): Map<string, number> {
  const next = new Map<string, string[]>(names.map((name) => [name, []]))
  for (const [from, to] of edges) if (from !== to) next.get(from)?.push(to)
  const state = new Map<string, 'open' | 'done'>()
  const order: string[] = []
  const forward = new Map<string, string[]>()
  // Depth first without recursion, so that a game of ten thousand scenes in a row is fine too.
  for (const first of names) {
    const stack: { name: string; rest: readonly string[]; at: number }[] = []
    const enter = (name: string): void => {
      state.set(name, 'open')
      stack.push({ name, rest: next.get(name) ?? [], at: 0 })
    }
    if (!state.has(first)) enter(first)
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const to = top.rest[top.at++]
      if (to === undefined) {
        state.set(top.name, 'done')
        order.push(top.name)
        stack.pop()
      } else if (state.get(to) !== 'open') {
        add(forward, top.name, to)
        if (!state.has(to)) enter(to)
      }
    }
  }
  const levels = new Map(names.map((name) => [name, 0]))
  for (const name of order.toReversed())
    for (const to of forward.get(name) ?? []) levels.set(to, Math.max(levels.get(to) ?? 0, (levels.get(name) ?? 0) + 1))
  return levels
}

export function add<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}
