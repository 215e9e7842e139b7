import { createInterface } from 'node:readline'

/** Lines of the person at the terminal: what they say, and their answers to questions in between. */
export interface Lines {
  /** The next thing they say; undefined when they have gone. Lines that come together, as from the clipboard, are one. */
  next(prompt: string): Promise<string | undefined>
  /** Called for Ctrl-C, however often; whoever returns true leaves. */
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
  let waiting: ((line: string | undefined) => void) | undefined
  let gathered: string[] = []
  let ended = false
  const give = (): void => {
    if (!waiting || (gathered.length === 0 && !ended)) return
    const hand = waiting
    waiting = undefined
    const text = gathered.join('\n')
    const over = gathered.length === 0
    gathered = []
    hand(over ? undefined : text)
  }
  reader.on('line', (line) => {
    gathered.push(line.endsWith('\\') ? line.slice(0, -1) : line)
    if (!line.endsWith('\\')) setImmediate(give)
  })
  reader.on('close', () => {
    ended = true
    give()
  })
  return {
    next(prompt) {
      reader.setPrompt(prompt)
      reader.prompt()
      return new Promise((resolve) => {
        waiting = resolve
        give()
      })
    },
    onInterrupt: (act) => void reader.on('SIGINT', act),
    close: () => reader.close(),
  }
}
