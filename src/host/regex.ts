import { ToolError } from '../contracts/errors.ts'
import { openWorkerPool } from './worker-pool.ts'

type Job =
  | { kind: 'find'; source: string; flags: string; texts: string[]; most: number }
  | { kind: 'replace'; source: string; flags: string; text: string; by: string }

type Answer = { lines: number[][] } | { text: string; count: number } | { invalid: string } | { tooLarge: true }

/** Who asks for a pattern to be tried, and for how long at most. */
export interface RegexCall {
  client: string
  timeoutMs: number
  signal?: AbortSignal | undefined
}

/**
 * Runs JavaScript patterns in a few threads, each of which is ended when its pattern takes too long: no pattern can hang the process,
 * and no client's patterns keep those of others waiting.
 */
export interface RegexEngine {
  /** For each text, the numbers of the lines that match. */
  find(pattern: Pattern, texts: string[], most: number, call: RegexCall): Promise<number[][]>
  replace(pattern: Pattern, text: string, by: string, call: RegexCall): Promise<{ text: string; count: number }>
  close(): void
}

interface Pattern {
  source: string
  flags: string
}

/** The thread's whole program; it must not refer to anything outside itself. */
function program(): void {
  const { parentPort } = process.getBuiltinModule('node:worker_threads')
  parentPort?.on('message', (job: Job) => {
    let pattern: RegExp
    try {
      pattern = new RegExp(job.source, job.flags)
    } catch (cause) {
      parentPort.postMessage({ invalid: (cause as Error).message } satisfies Answer)
      return
    }
    if (job.kind === 'replace') {
      const { text, by } = job
      let count = 0
      if (pattern.global) for (const _ of text.matchAll(pattern)) count++
      else count = pattern.test(text) ? 1 : 0
      pattern.lastIndex = 0
      let replaced: string
      try {
        replaced = count ? text.replace(pattern, by) : text
      } catch {
        return parentPort.postMessage({ tooLarge: true } satisfies Answer)
      }
      parentPort.postMessage({ text: replaced, count } satisfies Answer)
      return
    }
    let left = job.most
    const lines = job.texts.map((text) => {
      const found: number[] = []
      const split = text.split('\n')
      // What comes after the last newline is a line only if there is something.
      if (split.at(-1) === '') split.pop()
      let number = 0
      for (const line of split) {
        number++
        pattern.lastIndex = 0
        if (left > 0 && pattern.test(line.endsWith('\r') ? line.slice(0, -1) : line)) {
          found.push(number)
          left--
        }
      }
      return found
    })
    parentPort.postMessage({ lines } satisfies Answer)
  })
}

export function openRegexEngine(): RegexEngine {
  const pool = openWorkerPool<Job, Answer>(`(${program.toString()})()`, 256)
  const ask = (job: Job, { client, timeoutMs, signal }: RegexCall): Promise<Answer> =>
    pool.run({
      job,
      client,
      timeoutMs,
      signal,
      late: () =>
        new ToolError('E_TIMEOUT', `The pattern took longer than ${timeoutMs} ms`, {
          details: { timeoutMs },
          hint: 'Avoid nested repetition such as (a+)+, or use literal text.',
        }),
      broken: (cause) => ((cause as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuch() : cause),
    })
  return {
    async find({ source, flags }, texts, most, call) {
      const answer = await ask({ kind: 'find', source, flags, texts, most }, call)
      if ('invalid' in answer) throw invalid(source, answer.invalid)
      return (answer as { lines: number[][] }).lines
    },
    async replace({ source, flags }, text, by, call) {
      const answer = await ask({ kind: 'replace', source, flags, text, by }, call)
      if ('invalid' in answer) throw invalid(source, answer.invalid)
      if ('tooLarge' in answer) throw tooMuch()
      return answer as { text: string; count: number }
    },
    close: pool.close,
  }
}

function tooMuch(): ToolError {
  return new ToolError('E_TOO_LARGE', 'The replacement would grow the file beyond what memory allows', {
    hint: 'Replace less at once.',
  })
}

function invalid(source: string, why: string): ToolError {
  return new ToolError('E_BAD_ARGS', `Not a valid regular expression: ${why.slice(0, 300)}`, {
    details: { regex: source.slice(0, 200) },
    hint: 'Escape special characters with a backslash, or use literal text.',
  })
}
