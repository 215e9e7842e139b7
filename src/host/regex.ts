import { Worker } from 'node:worker_threads'
import { ToolError } from '../contracts/errors.ts'

type Job =
  | { kind: 'find'; source: string; flags: string; texts: string[]; most: number }
  | { kind: 'replace'; source: string; flags: string; text: string; by: string }

type Answer = { lines: number[][] } | { text: string; count: number } | { invalid: string } | { tooLarge: true }

/** Runs JavaScript patterns in a thread of its own, which is ended when a pattern takes too long: no pattern can hang the process. */
export interface RegexEngine {
  /** For each text, the numbers of the lines that match. */
  find(source: string, flags: string, texts: string[], most: number, timeoutMs: number, signal?: AbortSignal): Promise<number[][]>
  replace(source: string, flags: string, text: string, by: string, timeoutMs: number): Promise<{ text: string; count: number }>
  close(): void
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
  let worker: Worker | undefined
  let line: Promise<unknown> = Promise.resolve()

  const ask = (job: Job, timeoutMs: number, signal?: AbortSignal): Promise<Answer> => {
    const turn = line.then(() => {
      signal?.throwIfAborted()
      return one(job, timeoutMs, signal)
    })
    line = turn.catch(() => undefined)
    return turn
  }
  const one = (job: Job, timeoutMs: number, signal?: AbortSignal): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const thread = (worker ??= new Worker(`(${program.toString()})()`, {
        eval: true,
        resourceLimits: { maxOldGenerationSizeMb: 256 },
      }))
      thread.ref()
      const finish = (keep: boolean): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
        thread.off('message', onMessage)
        thread.off('error', onError)
        if (keep) thread.unref()
        else {
          worker = undefined
          void thread.terminate()
        }
      }
      const timer = setTimeout(() => {
        finish(false)
        reject(
          new ToolError('E_TIMEOUT', `The pattern took longer than ${timeoutMs} ms`, {
            details: { timeoutMs },
            hint: 'Avoid nested repetition such as (a+)+, or use literal text.',
          }),
        )
      }, timeoutMs)
      // Whoever asked is gone: nobody else waits behind a pattern that nobody wants any more.
      const onAbort = (): void => {
        finish(false)
        reject(signal?.reason as Error)
      }
      signal?.addEventListener('abort', onAbort)
      const onMessage = (answer: Answer): void => {
        finish(true)
        resolve(answer)
      }
      const onError = (cause: unknown): void => {
        finish(false)
        reject((cause as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuch() : cause)
      }
      thread.on('message', onMessage)
      thread.on('error', onError)
      thread.postMessage(job)
    })
  const tooMuch = (): ToolError =>
    new ToolError('E_TOO_LARGE', 'The replacement would grow the file beyond what memory allows', {
      hint: 'Replace less at once.',
    })
  const invalid = (source: string, why: string): ToolError =>
    new ToolError('E_BAD_ARGS', `Not a valid regular expression: ${why.slice(0, 300)}`, {
      details: { regex: source.slice(0, 200) },
      hint: 'Escape special characters with a backslash, or use literal text.',
    })

  return {
    async find(source, flags, texts, most, timeoutMs, signal) {
      const answer = await ask({ kind: 'find', source, flags, texts, most }, timeoutMs, signal)
      if ('invalid' in answer) throw invalid(source, answer.invalid)
      return (answer as { lines: number[][] }).lines
    },
    async replace(source, flags, text, by, timeoutMs) {
      const answer = await ask({ kind: 'replace', source, flags, text, by }, timeoutMs)
      if ('invalid' in answer) throw invalid(source, answer.invalid)
      if ('tooLarge' in answer) throw tooMuch()
      return answer as { text: string; count: number }
    },
    close() {
      void worker?.terminate()
      worker = undefined
    },
  }
}
