/** Where traces go, by OpenTelemetry's own variables in the environment of whoever started us; nothing a project brings is looked at. */
export interface TraceSettings {
  url: string
  headers: Record<string, string>
  timeoutMs: number
  resource: Record<string, string>
}

const mostPairs = 64
const longest = 1_000

/** Off unless an endpoint is named; `why` where one is named and cannot be used. */
export function traceSettings(environment: Record<string, string | undefined>): TraceSettings | { why: string } | undefined {
  const value = (name: string): string | undefined => environment[name]?.trim() || undefined
  const own = value('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
  const base = value('OTEL_EXPORTER_OTLP_ENDPOINT')
  const named = own ?? base
  if (named === undefined || value('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined
  const exporter = value('OTEL_TRACES_EXPORTER')
  if (exporter !== undefined && !exporter.split(',').some((one) => one.trim() === 'otlp')) return undefined
  const protocol = value('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? value('OTEL_EXPORTER_OTLP_PROTOCOL')
  if (protocol === 'grpc') return { why: 'it is to be reached over gRPC, and traces go over HTTP only' }
  let url: URL
  try {
    url = new URL(named)
  } catch {
    return { why: 'it is no address' }
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return { why: 'it is no address of http or https' }
  // What signs in belongs into the variable for headers: addresses are shown.
  if (url.username !== '' || url.password !== '') return { why: 'its address holds a user or password' }
  // A base is added to; an address of its own is taken as it is.
  if (own === undefined) url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/traces`
  const asked = Number(value('OTEL_EXPORTER_OTLP_TRACES_TIMEOUT') ?? value('OTEL_EXPORTER_OTLP_TIMEOUT') ?? 10_000)
  const service = value('OTEL_SERVICE_NAME')
  return {
    url: url.href,
    headers: { ...pairs(value('OTEL_EXPORTER_OTLP_HEADERS')), ...pairs(value('OTEL_EXPORTER_OTLP_TRACES_HEADERS')) },
    timeoutMs: Number.isFinite(asked) ? Math.min(60_000, Math.max(100, asked)) : 10_000,
    resource: { ...pairs(value('OTEL_RESOURCE_ATTRIBUTES')), ...(service !== undefined && { 'service.name': service }) },
  }
}

/** `name=value,name=value`, values percent-encoded. What is no pair is left out. */
function pairs(text = ''): Record<string, string> {
  const found: [string, string][] = []
  for (const part of text.split(',').slice(0, mostPairs)) {
    const at = part.indexOf('=')
    const name = part.slice(0, at).trim()
    if (at <= 0 || name === '') continue
    try {
      found.push([name, decodeURIComponent(part.slice(at + 1).trim()).slice(0, longest)])
    } catch {
      // Not encoded as it should be.
    }
  }
  return Object.fromEntries(found)
}
