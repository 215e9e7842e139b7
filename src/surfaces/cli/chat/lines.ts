import { createInterface } from 'node:readline'

/** Lines of the person at the terminal: what they say, and their answers to questions in between. */
export interface Lines {
  /** The next thing they say; undefined when they have gone. Lines that come together, as from the clipboard, are one, commands excepted. */
  next(prompt: string): Promise<string | undefined>
  /** One line in answer to what is shown now: what was typed before that counts for nothing. */
  ask(question: string): Promise<string | undefined>
  onInterrupt(act: () => void): void
  close(): void
}

export function openLines(history: readonly string[]): Lines {
  const reader = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: true,
    historySize: 500,
    history: [...history].reverse(),
    removeHistoryDuplicates: true,
  })
  let waiting: { one: boolean; hand: (line: string | undefined) => void } | undefined
  let typed: string[] = []
  let ended = false
  const give = (): void => {
    if (!waiting || (typed.length === 0 && !ended)) return
    const { one, hand } = waiting
    waiting = undefined
    if (typed.length === 0) return hand(undefined)
    const command = typed.findIndex((line) => line.startsWith('/'))
    const count = one || command === 0 ? 1 : command > 0 ? command : typed.length
    hand(typed.splice(0, count).join('\n'))
  }
  const wait = (prompt: string, one: boolean): Promise<string | undefined> => {
    reader.setPrompt(prompt)
    if (!ended) reader.prompt()
    return new Promise((hand) => {
      waiting = { one, hand }
      give()
    })
  }
  reader.on('line', (line) => {
    typed.push(line)
    setImmediate(give)
  })
  reader.on('close', () => {
    ended = true
    give()
  })
  return {
    next: (prompt) => wait(prompt, false),
    ask(question) {
      typed = []
      // Also what stands there without its end: an Enter must not make an answer of it.
      for (const name of ['u', 'k']) reader.write(null, { ctrl: true, name })
      return wait(question, true)
    },
    onInterrupt: (act) => void reader.on('SIGINT', act),
    close: () => reader.close(),
  }
}
