import { promptRoles, type Prompt, type PromptInput, type PromptRole, type RenderedPrompt } from '../contracts/prompt.ts'
import { readFrontMatter } from './front-matter.ts'
import { outsideFences } from './markdown-lines.ts'

/** A prompt from its file, and everything in it that seed 004 §3 does not allow. */
export function readPrompt(id: string, text: string, from: Prompt['from']): { prompt: Prompt; wrong: string[] } {
  const { fields = {}, body, notes } = readFrontMatter(text)
  const { sections, wrong: misplaced } = sectionsIn(body)
  const wrong = [...notes, ...misplaced]
  const said = (name: string): string => (typeof fields[name] === 'string' ? fields[name].trim() : '')
  for (const name of ['id', 'name', 'version']) if (said(name) === '') wrong.push(`front matter: ${name} is missing`)
  if (said('id') !== '' && said('id') !== id) wrong.push(`front matter: id is ${said('id')}, and the file is ${id}.md`)
  if (said('version') !== '' && !/^\d+(?:\.\d+){0,2}$/.test(said('version')))
    wrong.push('front matter: version must be numbers, as in 1.0.0')
  if (!Object.hasOwn(fields, 'used_by')) wrong.push('front matter: used_by is missing')
  if (!Object.hasOwn(fields, 'inputs')) wrong.push('front matter: inputs is missing; an empty list where there are none')
  const inputs = inputsIn(fields['inputs'], wrong)
  const output = outputIn(fields['output'], wrong)
  for (const name of Object.keys(fields))
    if (!known.has(name)) wrong.push(`front matter: nobody knows ${name}; what is a provider’s own does not belong in a prompt`)
  wrong.push(...wrongIn(sections, inputs))
  const prompt: Prompt = {
    id,
    name: said('name'),
    version: said('version'),
    used_by: wordsIn(fields['used_by']),
    inputs,
    output,
    model_hints: isRecord(fields['model_hints']) ? fields['model_hints'] : {},
    sections,
    from,
  }
  return { prompt, wrong }
}

const known = new Set(['id', 'name', 'version', 'used_by', 'inputs', 'output', 'model_hints', 'description'])

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const wordsIn = (value: unknown): string[] => {
  const list = Array.isArray(value) ? value : value === undefined || value === '' ? [] : [value]
  return list.filter((one): one is string => typeof one === 'string')
}

/** `- name: what it is`, a bare name, or a map of them. */
function inputsIn(given: unknown, wrong: string[]): PromptInput[] {
  if (given === undefined || given === '') return []
  const list = Array.isArray(given) ? given : [given]
  const inputs = list.flatMap((one: unknown): PromptInput[] => {
    if (typeof one === 'string') {
      const [, name = '', says = ''] = /^\s*([^:]*?)\s*(?::\s*(.*))?$/s.exec(one) ?? []
      return [{ name, says }]
    }
    if (isRecord(one)) return Object.entries(one).map(([name, says]) => ({ name, says: typeof says === 'string' ? says : '' }))
    wrong.push('front matter: an entry of inputs is neither a name nor a name with what it is')
    return []
  })
  for (const { name } of inputs)
    if (!variable.test(name)) wrong.push(`front matter: ${JSON.stringify(name)} is no name of a variable`)
  const names = inputs.map(({ name }) => name)
  for (const name of new Set(names.filter((one, at) => names.indexOf(one) !== at)))
    wrong.push(`front matter: inputs declares ${name} twice`)
  return inputs
}

function outputIn(given: unknown, wrong: string[]): Prompt['output'] {
  const output = isRecord(given) ? given : {}
  const type = output['type']
  if (type !== 'json' && type !== 'text') wrong.push('front matter: output.type must be json or text')
  const read = {
    type: type === 'json' ? ('json' as const) : ('text' as const),
    schema_fields: wordsIn(output['schema_fields']),
    constraints: wordsIn(output['constraints']),
  }
  if (read.type === 'json' && read.schema_fields.length === 0)
    wrong.push('front matter: a prompt for JSON names its schema_fields')
  if (read.type === 'text' && read.constraints.length === 0)
    wrong.push('front matter: a prompt for text names its constraints, such as "No tool calls"')
  return read
}

const variable = /^[A-Za-z_]\w{0,63}$/
/** Anything in double braces: what is no variable is refused, and so cannot be left over. */
const braces = /\{\{([\s\S]*?)\}\}/g

/** The parts under `## system`, `## user`, `## assistant`, in whatever case; a heading inside a fence is text. */
function sectionsIn(body: string): { sections: Prompt['sections']; wrong: string[] } {
  const wrong: string[] = []
  const sections: Partial<Record<PromptRole, string>> = {}
  let role: PromptRole | undefined
  let lines: string[] = []
  const close = (): void => {
    if (role !== undefined) sections[role] = lines.join('\n').trim()
    lines = []
  }
  for (const { line, fenced } of outsideFences(body)) {
    const word = fenced ? undefined : /^##[ \t]+(\w+)[ \t]*#*[ \t]*$/.exec(line)?.[1]?.toLowerCase()
    if (word !== undefined && (promptRoles as readonly string[]).includes(word)) {
      close()
      role = word as PromptRole
      if (sections[role] !== undefined) wrong.push(`## ${role} stands there twice`)
      continue
    }
    // Also inside a fence: whoever splits the file by it does not look at fences.
    if (/^---[ \t]*$/.test(line)) wrong.push('--- on a line of its own belongs to the front matter; a body has none')
    if (role === undefined && line.trim() !== '')
      wrong.push(`text before the first section: ${JSON.stringify(line.slice(0, 60))}`)
    lines.push(line)
  }
  close()
  if (!sections.system) wrong.push('the section ## system is missing or empty')
  return { sections, wrong }
}

/** Words that a model would take as an order to destroy or to start something. What may be done is decided by tools and their risk. */
const leading =
  /\brm\s+-[a-z]*[rf]|\bsudo\b|\b(?:delete|remove|erase|wipe|overwrite)\s+(?:the\s+|all\s+|any\s+|every\s+)?(?:files?|folders?|director(?:y|ies)|disks?|databases?)\b|\b(?:run|execute)\s+(?:the\s+|any\s+|arbitrary\s+|this\s+)?(?:shell|system|bash|commands?|scripts?)\b|删除(?:文件|目录|所有|数据)|执行(?:命令|脚本|shell)|运行(?:命令|脚本)/i
const notLeading = /\b(?:never|not|no|cannot|must not|don['’]t|do not|without|refuse|forbidden)\b|禁止|不要|不得|不能|勿|不会/i

function wrongIn(sections: Prompt['sections'], inputs: readonly PromptInput[]): string[] {
  const declared = new Set(inputs.map(({ name }) => name))
  const used = new Set<string>()
  const wrong: string[] = []
  for (const [role, text = ''] of Object.entries(sections)) {
    for (const [whole, inner = ''] of text.matchAll(braces)) {
      const name = inner.trim()
      if (/^[#/^!&>]|^else\b|\s/.test(name)) wrong.push(`## ${role}: ${whole.slice(0, 60)} is a condition; those belong in code`)
      else if (!variable.test(name)) wrong.push(`## ${role}: ${whole.slice(0, 60)} is no variable`)
      else if (!declared.has(name)) wrong.push(`## ${role}: ${name} is used and not declared in inputs`)
      used.add(name)
    }
    if (/\{%[\s\S]*?%\}/.test(text)) wrong.push(`## ${role}: {% %} is a condition; those belong in code`)
    for (const line of text.split('\n'))
      if (leading.test(line) && !notLeading.test(line))
        wrong.push(
          `## ${role}: this leads to deleting or executing, which is for tools and their risk: ${line.trim().slice(0, 80)}`,
        )
  }
  for (const { name } of inputs) if (!used.has(name)) wrong.push(`inputs declares ${name}, and nothing uses it`)
  return wrong
}

/**
 * Puts the values into their places in one pass: what a value holds is never looked at again, so braces and backslashes in it stay as they
 * are. Declared values that are missing are an error; values that are not declared are not used, and said.
 */
export function renderPrompt(
  prompt: Prompt,
  values: Readonly<Record<string, string>>,
): { rendered: RenderedPrompt; missing: string[] } {
  const declared = new Set(prompt.inputs.map(({ name }) => name))
  const missing = [...declared].filter((name) => !Object.hasOwn(values, name))
  const fill = (text: string): string =>
    text.replace(braces, (whole, inner: string) => {
      const name = inner.trim()
      return declared.has(name) && Object.hasOwn(values, name) ? (values[name] as string) : whole
    })
  const { id, version, output, model_hints, sections } = prompt
  const rendered: RenderedPrompt = {
    id,
    version,
    system: fill(sections.system ?? ''),
    ...(sections.user !== undefined && { user: fill(sections.user) }),
    ...(sections.assistant !== undefined && { assistant: fill(sections.assistant) }),
    output,
    model_hints,
    warnings: Object.keys(values)
      .filter((name) => !declared.has(name))
      .map((name) => `${id} does not declare ${name.slice(0, 64)}: it is not used`),
  }
  return { rendered, missing }
}

/** What is wrong with a reply to a prompt that asks for JSON: no JSON, or a field that it declares and the reply has not. */
export function wrongReply({ output }: Pick<Prompt, 'output'>, reply: unknown): string[] {
  if (output.type !== 'json') return []
  if (!isRecord(reply)) return ['the reply is no JSON object']
  return output.schema_fields.filter((name) => !Object.hasOwn(reply, name)).map((name) => `the reply has no ${name}`)
}
