/** In one transaction at most. */
const mostTogether = 50

interface Waiting<In, Out> {
  given: In
  resolve: (out: Out) => void
  reject: (fault: unknown) => void
}

/** One group at a time, in the order they came: whatever comes while one is on its way is the next. */
export function openGroups<In, Out>(act: (group: readonly In[]) => Promise<Out[]>): (given: In) => Promise<Out> {
  let waiting: Waiting<In, Out>[] = []
  let isBusy = false
  const work = async (): Promise<void> => {
    isBusy = true
    while (waiting.length > 0) {
      const group = waiting.slice(0, mostTogether)
      waiting = waiting.slice(group.length)
      try {
        const outs = await act(group.map(({ given }) => given))
        group.forEach(({ resolve }, at) => resolve(outs[at] as Out))
      } catch (fault) {
        for (const { reject } of group) reject(fault)
      }
    }
    isBusy = false
  }
  return (given) =>
    new Promise((resolve, reject) => {
      waiting.push({ given, resolve, reject })
      if (!isBusy) void work()
    })
}
