import { Refusal } from '../contracts/refusal.ts'
import type { Incoming, Route } from './routes.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** One thing that can be asked for over plain HTTP. Routes and the OpenAPI document are both made of these, so neither has one the other lacks. */
export interface Operation {
  /** What a generated client calls it. */
  id: string
  method: Method
  /** `{name}` stands for one part of the path. */
  path: string
  for: Route['for']
  shows?: Route['shows']
  tag: string
  summary: string
  description?: string
  parameters?: readonly Parameter[]
  /** The schema of the body, which is JSON. */
  body?: object
  answers: Readonly<Record<number, Answered>>
  handle(incoming: Incoming, params: Readonly<Record<string, string>>): void | Promise<void>
}

interface Parameter {
  name: string
  in: 'query' | 'header'
  says: string
  schema?: object
}

export interface Answered {
  says: string
  schema?: object
  /** Events one after the other instead, or beside it where the request decides. */
  stream?: string
  /** A page. */
  html?: true
}

const placeholder = /\{(\w+)\}/g

/** Operations as the listener takes them: by path, those that differ in a part of it together. */
export function routesOf(operations: readonly Operation[], tells: NonNullable<Route['tells']>): Record<string, Route> {
  const byKey = new Map<string, Operation[]>()
  for (const operation of operations) {
    const at = operation.path.indexOf('{')
    const key = at < 0 ? operation.path : `${operation.path.slice(0, at)}*`
    byKey.set(key, [...(byKey.get(key) ?? []), operation])
  }
  // What is below and written out in full goes before what is not: the listener looks for the whole path first.
  return Object.fromEntries([...byKey].map(([key, among]) => [key, routeOf(among, tells)]))
}

function routeOf(among: readonly Operation[], tells: NonNullable<Route['tells']>): Route {
  const [first] = among as [Operation]
  if (among.some((one) => one.for !== first.for || one.shows !== first.shows))
    throw new Error(`${first.path}: for different people`)
  const forms = among.map((operation) => ({ operation, ...formOf(operation.path) }))
  return {
    for: first.for,
    apiKey: true,
    methods: [...new Set(among.flatMap(methodsOf))],
    ...(first.shows && { shows: first.shows }),
    tells,
    handle(incoming) {
      const method = incoming.request.method === 'HEAD' ? 'GET' : incoming.request.method
      const fitting = forms.flatMap(({ operation, form, names }) => {
        const found = form.exec(incoming.path)
        return found ? [{ operation, params: Object.fromEntries(names.map((name, at) => [name, found[at + 1] ?? ''])) }] : []
      })
      if (fitting.length === 0) throw new Refusal(404, 'Nothing here.')
      const chosen = fitting.find(({ operation }) => operation.method === method)
      if (!chosen) throw new Refusal(405, `Only ${fitting.map(({ operation }) => operation.method).join(', ')} here.`)
      return chosen.operation.handle(incoming, chosen.params)
    },
  }
}

/** A stream has no end that could be left out. */
function methodsOf({ method, answers }: Operation): string[] {
  return method === 'GET' && Object.values(answers).every(({ stream }) => stream === undefined) ? ['GET', 'HEAD'] : [method]
}

function formOf(path: string): { form: RegExp; names: string[] } {
  const names = [...path.matchAll(placeholder)].map(([, name = '']) => name)
  const source = path
    .split(placeholder)
    .map((part, at) => (at % 2 ? '([\\w.:-]{1,128})' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
    .join('')
  return { form: new RegExp(`^${source}$`), names }
}

/** The operations as OpenAPI 3.1 has them; its schemas are JSON Schema 2020-12, as ours are. */
export function openApiOf(
  operations: readonly Operation[],
  about: { title: string; version: string; description: string },
): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations) (paths[operation.path] ??= {})[operation.method.toLowerCase()] = described(operation)
  return {
    openapi: '3.1.0',
    info: about,
    servers: [{ url: '/' }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'The token in the file that `handrail serve` names: an agent’s.' },
        tokenAsApiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'The same token.' },
        personKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'What `handrail approvals key` prints: the person’s, for one server and twelve hours.',
        },
      },
    },
  }
}

const security: Record<Route['for'], object[]> = {
  anyone: [],
  agent: [{ token: [] }, { tokenAsApiKey: [] }],
  person: [],
  key: [{ personKey: [] }],
  'agent or key': [{ token: [] }, { tokenAsApiKey: [] }, { personKey: [] }],
}

function described({ id, path, tag, summary, description, parameters = [], body, answers, ...operation }: Operation): object {
  const named = [...path.matchAll(placeholder)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const asked = parameters.map(({ name, in: where, says, schema = { type: 'string' } }) => ({
    name,
    in: where,
    description: says,
    schema,
  }))
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: security[operation.for],
    ...(named.length + asked.length > 0 && { parameters: [...named, ...asked] }),
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: Object.fromEntries(
      Object.entries(answers).map(([status, { says, schema, stream, html }]) => [
        status,
        {
          description: stream === undefined ? says : `${says} ${stream}`,
          ...((schema ?? stream ?? html) && {
            content: {
              ...(schema && { 'application/json': { schema } }),
              ...(stream !== undefined && { 'text/event-stream': { schema: { type: 'string' } } }),
              ...(html && { 'text/html': { schema: { type: 'string' } } }),
            },
          }),
        },
      ]),
    ),
  }
}
