import type { AuditEntry } from '../contracts/audit.ts'
import { asFault } from '../contracts/faults/fault.ts'
import type { Model } from '../contracts/model.ts'
import type { Exporter } from '../host/traces/exporter.ts'
import type { ModelSpan, openSpans, Span } from '../host/traces/spans.ts'
import { traceSettings } from '../host/traces/settings.ts'
import type { AuditStore } from '../stores/audit.ts'
import { version } from '../version.ts'

/** What is told to OpenTelemetry of what this process does; nothing, where no endpoint is named in the environment. */
export interface Traces {
  /** The log, each line of this process told as it is written. */
  audit(audit: AuditStore): AuditStore
  model(model: Model, provider: string): Model
  /** Where they go and how that goes, for `doctor`. */
  about(): { endpoint: string; wrong?: string } | undefined
  close(): Promise<void>
}

export function openTraces(environment: Record<string, string | undefined>): Traces {
  const settings = traceSettings(environment)
  if (!settings || 'why' in settings)
    return {
      audit: (audit) => audit,
      model: (model) => model,
      about: () => settings && { endpoint: 'OTEL_EXPORTER_OTLP_ENDPOINT', wrong: settings.why },
      close: () => Promise.resolve(),
    }
  // What stands behind the path may sign in, and this is shown.
  const url = settings.url.replace(/[?#].*$/s, '')
  let ready: { exporter: Exporter; spans: ReturnType<typeof openSpans> } | undefined
  let opening: Promise<void> | undefined
  const open = async (): Promise<void> => {
    const [{ openExporter }, spans] = await Promise.all([import('../host/traces/exporter.ts'), import('../host/traces/spans.ts')])
    ready = { exporter: openExporter(settings, version), spans: spans.openSpans() }
  }
  // Loaded with the first line: whoever only asks for help waits for none of it.
  const tell = (make: (spans: ReturnType<typeof openSpans>) => Span | undefined): void => {
    if (!ready) {
      void (opening ??= open()).then(() => tell(make))
      return
    }
    const span = make(ready.spans)
    if (span) ready.exporter.add(span)
  }
  const take = (entry: AuditEntry): void => {
    // As it is now: it goes on being used.
    const line = ready ? entry : { ...entry }
    tell((spans) => spans.of(line))
  }
  const takeModel = (asked: ModelSpan): void => tell((spans) => spans.ofModel(asked))
  return {
    audit: (audit) => ({
      ...audit,
      note(entry) {
        audit.note(entry)
        take(entry)
      },
      write(entry, durable) {
        audit.write(entry, durable)
        take(entry)
      },
      async writeTogether(entry) {
        const written = audit.writeTogether(entry)
        take(entry)
        await written
      },
    }),
    model: (model, provider) => ({
      name: model.name,
      endpoint: model.endpoint,
      list: (signal) => model.list(signal),
      async complete(request) {
        const startedAt = Date.now()
        const of = { startedAt, provider, model: model.name.slice(model.name.indexOf('/') + 1), endpoint: model.endpoint }
        try {
          const reply = await model.complete(request)
          takeModel({ ...of, endedAt: Date.now(), tokens: reply.usage, end: reply.end })
          return reply
        } catch (thrown) {
          takeModel({ ...of, endedAt: Date.now(), failure: asFault(thrown).reason })
          throw thrown
        }
      },
    }),
    about() {
      const { dropped = 0, failed } = ready?.exporter.counts ?? {}
      const wrong =
        dropped > 0 || failed !== undefined ? `${dropped} spans dropped${failed === undefined ? '' : `; ${failed}`}` : undefined
      return { endpoint: url, ...(wrong !== undefined && { wrong }) }
    },
    async close() {
      await opening
      if (!ready) return
      await ready.exporter.close()
      const { dropped, failed } = ready.exporter.counts
      if (dropped > 0)
        console.error(`handrail: ${dropped} spans did not reach ${url}${failed === undefined ? '' : `: ${failed}`}`)
    },
  }
}
