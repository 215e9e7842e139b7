import type { AutofillTarget, Definition, Factory, RawEntry } from '../../../contracts/anchors.ts'
import {
  eachNode,
  isNode,
  literalText,
  placesIn,
  propertiesOf,
  unwrapped,
  type Import,
  type Node,
  type Syntax,
} from './syntax.ts'

export interface FileAnchors {
  entries: (Definition | AutofillTarget)[]
  raw: RawEntry[]
  /** It is no source that can be looked into; `raw` says why. */
  unreadable?: boolean
}

/** A call that is one of the factories. */
export interface Found {
  factory: Factory
  call: Node
  /** The arguments that hold the name, and the object. */
  idArgument: Node | undefined
  defArgument: Node | undefined
  binding: string | undefined
}

/** Whether a file can hold any: parsing those that name no module of theirs is spared. */
export function mayHold(text: string, factories: readonly Factory[]): boolean {
  return modulesOf(factories).some((module) => text.includes(module))
}

const modules = new WeakMap<readonly Factory[], string[]>()
function modulesOf(factories: readonly Factory[]): string[] {
  const known = modules.get(factories) ?? [...new Set(factories.map(({ module }) => module))]
  modules.set(factories, known)
  return known
}

/** The factory calls of a file, by what its names are imported as. Rather one too few than a guess. */
export function findCalls({ program, imports }: Syntax, text: string, factories: readonly Factory[]): Found[] {
  const named = localNames(imports, factories)
  if (named.size === 0) return []
  const found: Found[] = []
  const bindings = new Map<Node, string>()
  const isNamedIn = placesOf(text, named.keys())
  eachNode(program, (node) => {
    if (!isNamedIn(node)) return 'pass'
    if (node.type === 'VariableDeclarator') {
      const id = node['id'] as Node
      const value = unwrapped(node['init'])
      if (value && id.type === 'Identifier') bindings.set(value, id['name'] as string)
      return
    }
    if (node.type !== 'CallExpression') return
    const callee = unwrapped(node['callee'])
    const inner = callee?.type === 'CallExpression' ? callee : undefined
    const path = dotted(inner ? inner['callee'] : callee)
    const factory =
      path === undefined ? undefined : named.get(path)?.find((one) => (one.curried === true) === (inner !== undefined))
    if (!factory) return
    const args = node['arguments'] as Node[]
    const defArgument = args[factory.def]
    const isArgument = /^\d$/.test(factory.id)
    const idArgument = isArgument ? ((inner ?? node)['arguments'] as Node[])[Number(factory.id)] : undefined
    found.push({ factory, call: node, idArgument, defArgument, binding: bindings.get(node) })
  })
  return found
}

/** Whether one of these names stands in the text of a node: most of a source is about something else, and is not looked through. */
function placesOf(text: string, paths: Iterable<string>): (node: Node) => boolean {
  // A name can be written with escapes, too.
  if (text.includes('\\u')) return () => true
  const places: number[] = []
  for (const name of new Set(Array.from(paths, (path) => path.split('.', 1)[0] as string)))
    for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) places.push(at)
  places.sort((one, other) => one - other)
  return ({ start, end }) => {
    let low = 0
    let high = places.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((places[middle] as number) < start) low = middle + 1
      else high = middle
    }
    return low < places.length && (places[low] as number) < end
  }
}

/** What each factory is called in this file. */
function localNames(imports: readonly Import[], factories: readonly Factory[]): Map<string, Factory[]> {
  const names = new Map<string, Factory[]>()
  const add = (name: string, factory: Factory): void => void names.set(name, [...(names.get(name) ?? []), factory])
  for (const { module, imported, local } of imports)
    for (const factory of factories) {
      if (factory.module !== module) continue
      const [first, ...rest] = factory.callee.split('.') as [string, ...string[]]
      if (imported === first) add([local, ...rest].join('.'), factory)
      else if (imported === '*' || imported === 'default') add(`${local}.${factory.callee}`, factory)
    }
  return names
}

/** More parts than the name of any factory. */
const longestChain = 16

function dotted(node: unknown): string | undefined {
  const names: string[] = []
  let at = unwrapped(node)
  // A chain of any length, without a stack.
  while (at?.type === 'MemberExpression' && at['computed'] !== true && names.length < longestChain) {
    const property = at['property'] as Node
    if (property.type !== 'Identifier') return undefined
    names.unshift(property['name'] as string)
    at = unwrapped(at['object'])
  }
  return at?.type === 'Identifier' ? [at['name'] as string, ...names].join('.') : undefined
}

/** What a file defines. What is not written out in place is listed as raw, with a reason, and nobody edits it. */
export function anchorsOf(file: string, text: string, syntax: Syntax, factories: readonly Factory[]): FileAnchors {
  const entries: FileAnchors['entries'] = []
  const raw: RawEntry[] = []
  const calls = findCalls(syntax, text, factories)
  if (calls.length === 0) return { entries, raw }
  const place = placesIn(text)
  for (const found of calls) {
    const { factory, call, defArgument, binding } = found
    const span = place(call.start, call.end)
    const refuse = (code: string): void => void raw.push({ file, span, reasonCodes: [`${prefixOf(factory)}.${code}`] })
    const def = unwrapped(defArgument)
    const object = def?.type === 'ObjectExpression' ? def : undefined
    if (!object && !(factory.optional && (def === undefined || /Function/.test(def.type)))) {
      refuse(def === undefined ? 'missing_def' : 'def_not_object_literal')
      continue
    }
    const id = idOf(found, object)
    if (id === undefined) {
      refuse('non_literal_id')
      continue
    }
    const properties = object && propertiesOf(object)
    const unsure = [
      ...(properties?.spread ? ['object_has_spread'] : []),
      ...(properties?.computed ? ['object_has_computed_name'] : []),
    ]
    const name = `${factory.module}#${factory.callee}`
    entries.push({
      entryKey: `${factory.kind}:${file}:${id}:${span.start.offset}`,
      kind: factory.kind,
      file,
      span,
      idLiteral: id,
      factory: name,
      ...(binding !== undefined && { binding }),
      ...(object && { defSpan: place(object.start, object.end) }),
      ...(properties && { properties: [...properties.names.keys()].toSorted() }),
      ...(unsure.length > 0 && { reasonCodes: unsure }),
    })
    if (!object || !properties || unsure.length > 0) continue
    const at = place(object.end - 1, object.end - 1)
    const missing = (factory.fields ?? [])
      .filter((field) => !properties.names.has(field.name))
      .map((field) => ({
        field: field.name,
        valueCode: filled(field.value, { id, binding: binding ?? id, file }),
        insertSpan: at,
      }))
    if (missing.length > 0)
      entries.push({
        entryKey: `AutofillTarget:${file}:${id}:${span.start.offset}`,
        kind: 'AutofillTarget',
        file,
        span: place(object.start, object.end),
        target: { kind: factory.kind, id, defSpan: place(object.start, object.end) },
        missing,
      })
  }
  return { entries, raw }
}

const prefixOf = ({ kind }: Factory): string =>
  kind
    .replace(/Def$/, '')
    .replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`)
    .toLowerCase()

function idOf({ factory, idArgument, binding }: Found, object: Node | undefined): string | undefined {
  if (factory.id === 'binding') return binding
  if (!factory.id.startsWith('property:')) return literalText(idArgument)
  const property = object && propertiesOf(object).names.get(factory.id.slice('property:'.length))
  return property && property['kind'] === 'init' ? literalText(property['value']) : undefined
}

const filled = (value: string, texts: Record<string, string>): string =>
  value.replace(/\{(id|binding|file)\}/g, (_, name: string) => JSON.stringify(texts[name]))

/** Object literals by the constant they are, or define: for what a transform names. */
export function objectsNamed(
  syntax: Syntax,
  text: string,
  factories: readonly Factory[],
  wanted: { exportName?: string | undefined; id?: string | undefined },
): Node[] {
  const calls = findCalls(syntax, text, factories)
  const fits = calls.flatMap((found): Node[] => {
    const def = unwrapped(found.defArgument)
    if (def?.type !== 'ObjectExpression') return []
    const isNamed = wanted.exportName !== undefined && found.binding === wanted.exportName
    return isNamed || (wanted.id !== undefined && idOf(found, def) === wanted.id) ? [def] : []
  })
  if (fits.length > 0 || wanted.exportName === undefined) return fits
  const plain: Node[] = []
  for (const statement of syntax.program['body'] as Node[]) {
    const declaration = statement.type === 'ExportNamedDeclaration' ? statement['declaration'] : statement
    if (!isNode(declaration) || declaration.type !== 'VariableDeclaration') continue
    for (const one of declaration['declarations'] as Node[]) {
      const value = unwrapped(one['init'])
      if ((one['id'] as Node)['name'] === wanted.exportName && value?.type === 'ObjectExpression') plain.push(value)
    }
  }
  return plain
}
