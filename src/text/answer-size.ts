/** Characters an answer may still take. An answer is parsed and kept in memory by everybody on its way. */
export interface AnswerBudget {
  left: number
}

/** Most characters of the lists in one answer. */
export const answerBudget = (): AnswerBudget => ({ left: 2_000_000 })

const lengthOf = (item: unknown): number => (typeof item === 'string' ? item.length : JSON.stringify(item).length)

/** The first items that fit into what is left of the answer; the list itself where all do. */
export function firstThatFit<T>(items: readonly T[], room: AnswerBudget, costOf: (item: T) => number = lengthOf): T[] {
  const kept: T[] = []
  for (const item of items) {
    room.left -= costOf(item) + 4
    if (room.left < 0) break
    kept.push(item)
  }
  return kept
}
