import { conventions, valueOf, type Span } from './spans.ts'
import type { TraceSettings } from './settings.ts'

/** What waits to be sent, at most; what comes beyond it is counted and dropped. */
const mostQueued = 2_048
const batchSize = 512
const everyMs = 5_000
/** What is read of an answer: nobody needs more than how it went. */
const mostAnswer = 65_536
const backoffMs = { first: 1_000, most: 60_000 }
/** So long the end of the process waits for what is left. */
const lastMs = 1_000

export interface Exporter {
  add(span: Span): void
  readonly counts: { sent: number; dropped: number; failed: string | undefined }
  /** Sends what is left, and waits a moment for it. */
  close(): Promise<void>
}

/**
 * Sends spans as OTLP over HTTP, as JSON: beside everything else, in bounds, and never anywhere but to the address that was named. Whoever adds a span
 * never waits; an endpoint that is dead, slow or hostile costs spans and nothing else.
 */
export function openExporter({ url, headers, timeoutMs, resource }: TraceSettings, version: string): Exporter {
  let queue: Span[] = []
  let sending: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let pauseMs = 0
  const closing = new AbortController()
  const counts: { sent: number; dropped: number; failed: string | undefined } = { sent: 0, dropped: 0, failed: undefined }
  const about = Object.entries({ 'service.name': 'handrail', 'service.version': version, ...resource }).map(([key, value]) => ({
    key,
    value: valueOf(value),
  }))
  const bodyOf = (spans: readonly Span[]): string =>
    JSON.stringify({
      resourceSpans: [
        {
          resource: { attributes: about },
          scopeSpans: [{ scope: { name: 'handrail', version }, spans, schemaUrl: conventions }],
        },
      ],
    })

  /** How it went: taken, to be tried again later, or refused for good. */
  const post = async (spans: readonly Span[]): Promise<'taken' | 'later' | 'refused'> => {
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', 'user-agent': `handrail/${version}` },
        body: bodyOf(spans),
        // What signs in goes with it.
        redirect: 'error',
        signal: AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)]),
      })
      await readSome(response)
      if (response.ok) return 'taken'
      counts.failed = `it answered ${response.status}`
      return [429, 502, 503, 504].includes(response.status) ? 'later' : 'refused'
    } catch (thrown) {
      const { name, cause } = thrown as { name?: string; cause?: { code?: string } }
      counts.failed =
        name === 'TimeoutError' ? 'it did not answer in time' : `it cannot be reached (${cause?.code ?? name ?? 'unknown'})`
      return 'later'
    }
  }
  const send = async (): Promise<void> => {
    const spans = queue.slice(0, batchSize)
    const how = await post(spans)
    if (how === 'later') {
      pauseMs = Math.min(backoffMs.most, pauseMs === 0 ? backoffMs.first : pauseMs * 2)
      return
    }
    pauseMs = 0
    queue = queue.slice(spans.length)
    if (how === 'taken') counts.sent += spans.length
    else counts.dropped += spans.length
  }
  const start = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (sending || queue.length === 0 || closing.signal.aborted) return
    sending = send().finally(() => {
      sending = undefined
      plan()
    })
  }
  const plan = (): void => {
    if (sending || timer || queue.length === 0) return
    const soon = queue.length >= batchSize ? 0 : everyMs
    timer = setTimeout(start, Math.max(pauseMs, soon)).unref()
  }
  return {
    counts,
    add(span) {
      if (queue.length >= mostQueued) {
        counts.dropped++
        return
      }
      queue.push(span)
      // A full batch does not wait for its time.
      if (queue.length === batchSize && pauseMs === 0) {
        clearTimeout(timer)
        timer = undefined
      }
      plan()
    },
    async close() {
      const over = setTimeout(() => closing.abort(), lastMs)
      while (!closing.signal.aborted && (sending || queue.length > 0) && pauseMs === 0) {
        start()
        await sending
      }
      clearTimeout(over)
      clearTimeout(timer)
      closing.abort()
      counts.dropped += queue.length
      queue = []
    },
  }
}

/** So that the connection can be used again; one that never ends its answer is let go. */
async function readSome({ body }: Response): Promise<void> {
  const reader = body?.getReader()
  if (!reader) return
  for (let left = mostAnswer; left > 0;) {
    const { done, value } = await reader.read()
    if (done) return
    left -= value.length
  }
  await reader.cancel()
}
