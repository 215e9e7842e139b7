import { createRequire } from 'node:module'
import { Fault } from '../contracts/faults/fault.ts'
import { nestingOf } from './source-nesting.ts'
import { openWorkerPool, type WorkerPool } from './worker-pool.ts'

/** A node of the syntax tree: ESTree with TypeScript's additions, offsets in UTF-16 units. */
export interface SyntaxNode {
  type: string
  start: number
  end: number
  [field: string]: unknown
}

export interface Comment {
  type: 'Line' | 'Block'
  start: number
  end: number
}

export interface Import {
  module: string
  /** The exported name, `default`, or `*`. */
  imported: string
  local: string
}

export interface Syntax {
  program: SyntaxNode
  comments: readonly Comment[]
  imports: readonly Import[]
  /** Why it is no program to us: not one as it stands, or more than is looked at. */
  broken: false | 'not_parsed' | 'too_deep' | 'too_large'
}

export interface ParseCall {
  client: string
  signal?: AbortSignal | undefined
}

/** TypeScript and JavaScript as syntax trees, which nothing that a file holds can make fatal. */
export interface SourceParser {
  /**
   * At once, or where it is large in a thread with a stack for it. Of a large one the tree holds calls, object literals and variables with what
   * they are made of, and the rest only where it leads to them.
   */
  parse(file: string, text: string, call: ParseCall): Syntax | Promise<Syntax>
  close(): void
}

/** Longer than any source that somebody wrote. */
export const largestSource = 1_048_576
/** Half of a stack of 8 MB, of which half is in use or there. */
const hereNesting = 0.5
/** Ordinary code comes to 5 for a megabyte, minified code to 14: 8 are any source that somebody wrote. */
const threadStackMb = 128
const threadNesting = (hereNesting * threadStackMb) / 8
const threadMemoryMb = 1_024
const threadRestMs = 10_000
const timeoutMs = 120_000

type Oxc = typeof import('oxc-parser')

const nothing: SyntaxNode = { type: 'Program', start: 0, end: 0, body: [] }
const unread = (broken: Syntax['broken']): Syntax => ({ program: nothing, comments: [], imports: [], broken })

export function openSourceParser(): SourceParser {
  let pool: WorkerPool<{ file: string; text: string }, Flat> | undefined
  return {
    parse(file, text, { client, signal }) {
      if (text.length > largestSource) return unread('too_large')
      const nesting = nestingOf(text)
      if (nesting <= hereNesting) return parseHere(loaded().parser, file, text)
      if (nesting > threadNesting) return unread('too_deep')
      pool ??= openWorkerPool(programOf(loaded().path), {
        memoryMb: threadMemoryMb,
        stackMb: threadStackMb,
        restMs: threadRestMs,
      })
      const tooMuch = new Fault('too-large', `Too much to parse: ${file}`)
      const work = { job: { file, text }, client, timeoutMs, late: () => tooMuch, broken: () => tooMuch, signal }
      return pool.run(work).then(
        ({ nodes, ...syntax }) => ({ ...syntax, program: grown(nodes) }),
        (thrown: unknown) => {
          if (thrown === tooMuch) return unread('too_deep')
          throw thrown
        },
      )
    },
    close: () => pool?.close(),
  }
}

let oxc: { parser: Oxc; path: string } | undefined

/** Loaded where somebody looks at sources: no start of Handrail waits for it. Required, not imported: that would make Node warn on stderr. */
function loaded(): { parser: Oxc; path: string } {
  if (oxc) return oxc
  const require = createRequire(import.meta.url)
  try {
    return (oxc = { parser: require('oxc-parser') as Oxc, path: require.resolve('oxc-parser') })
  } catch (cause) {
    throw new Fault('unsupported', 'Sources cannot be looked through: the package oxc-parser is not there', {
      hint: 'Install Handrail with its optional packages, on a system oxc-parser is built for.',
      cause,
    })
  }
}

/**
 * A thread has the text of this function, too: it must not refer to anything outside itself. What the parser lists besides the tree it makes when it is
 * asked for, which takes as long as the tree: imports are found in the tree, and comments only where somebody wants them.
 */
function parseHere(parser: Oxc, file: string, text: string): Syntax {
  const parsed = parser.parseSync(file, text, { preserveParens: true })
  const program = parsed.program as unknown as SyntaxNode
  const imports: Import[] = []
  for (const node of program['body'] as SyntaxNode[]) {
    if (node.type !== 'ImportDeclaration' || node['importKind'] === 'type') continue
    const module = (node['source'] as { value: string }).value
    for (const one of node['specifiers'] as SyntaxNode[]) {
      if (one['importKind'] === 'type') continue
      const named = one['imported'] as { name?: string; value?: string } | undefined
      const imported =
        one.type === 'ImportNamespaceSpecifier'
          ? '*'
          : one.type === 'ImportDefaultSpecifier'
            ? 'default'
            : (named?.name ?? named?.value ?? '')
      imports.push({ module, imported, local: (one['local'] as { name: string }).name })
    }
  }
  const broken = parsed.errors.some(({ severity }: { severity: string }) => severity === 'Error')
    ? ('not_parsed' as const)
    : false
  return {
    program,
    get comments() {
      return parsed.comments
    },
    imports,
    broken,
  }
}

/** By its path, never by its name: a thread looks for names from the folder that the process runs in, which is somebody's project. */
const programOf = (path: string): string => `
const { parentPort } = require('node:worker_threads')
const parser = require(${JSON.stringify(path)})
const parse = ${parseHere.toString()}
const outline = ${outlineOf.toString()}
parentPort.on('message', ({ file, text }) => {
  const { program, ...syntax } = parse(parser, file, text)
  parentPort.postMessage({ ...syntax, nodes: JSON.stringify(outline(program)) })
})`

/** A tree as a list, those below first, which name each other by their numbers: nothing that carries it over goes as deep as it does. */
interface Flat extends Omit<Syntax, 'program'> {
  nodes: string
}

interface FlatNode {
  [field: string]: unknown
  parts: Record<string, number | number[]>
}

function grown(json: string): SyntaxNode {
  const nodes = JSON.parse(json) as FlatNode[]
  for (const node of nodes) {
    for (const [field, at] of Object.entries(node.parts))
      node[field] = Array.isArray(at) ? at.map((one) => nodes[one]) : nodes[at]
    delete (node as Partial<FlatNode>).parts
  }
  return nodes.at(-1) as unknown as SyntaxNode
}

/** What is looked for in a tree, with what stands around it: less than half of the whole, and that takes its time from thread to thread. */
function outlineOf(root: SyntaxNode): FlatNode[] {
  const looked = new Set(['CallExpression', 'ObjectExpression', 'VariableDeclarator'])
  /** Those whose parts say what they are. */
  const whole = new Set([
    ...looked,
    'Program',
    'ExpressionStatement',
    'ExportNamedDeclaration',
    'VariableDeclaration',
    'Property',
    'MemberExpression',
    'TemplateLiteral',
    'TemplateElement',
    'ParenthesizedExpression',
    'TSSatisfiesExpression',
    'TSAsExpression',
    'TSNonNullExpression',
    'TSTypeAssertion',
  ])
  const nodes: FlatNode[] = []
  const place = (node: SyntaxNode, wanted: boolean): number | undefined => {
    const { type } = node
    const flat: FlatNode = { parts: {} }
    const all = whole.has(type)
    let shown = wanted || looked.has(type)
    for (const field in node) {
      const value = node[field]
      if (typeof value === 'object') {
        if (Array.isArray(value)) {
          const parts: number[] = []
          for (const one of value as (SyntaxNode | null)[]) {
            const at = one?.type === undefined ? undefined : place(one, all)
            if (at !== undefined) parts.push(at)
          }
          shown ||= parts.length > 0
          flat.parts[field] = parts
        } else if (typeof (value as SyntaxNode | null)?.type === 'string') {
          const at = place(value as SyntaxNode, all)
          shown ||= at !== undefined
          if (at !== undefined) flat.parts[field] = at
        } else if (type === 'TemplateElement') flat[field] = value
      } else if (typeof value !== 'bigint') flat[field] = value
    }
    return shown ? nodes.push(flat) - 1 : undefined
  }
  place(root, true)
  return nodes
}
