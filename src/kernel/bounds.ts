import type { Tool } from '../contracts/tool.ts'

/**
 * The contracts say of many fields only that they are texts or lists. Their schemas stay as they are; what no caller means by a name,
 * a question or a list is refused here, before anything reads, compares, stores or logs it.
 */
export const longestText = 262_144
export const mostItems = 4_096
/** What a message may hold at all; fields that carry the content of files are bounded by it and by `limits.maxReadBytes`. */
export const longestContent = 32 << 20

interface Schema {
  maxLength?: number
  maxItems?: number
  items?: Schema
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
}

/** Fields that are longer than they may be, with what they may have. */
export function beyondBounds(tool: Pick<Tool, 'input' | 'contents'>, input: unknown): { field: string; problem: string }[] {
  const found: { field: string; problem: string }[] = []
  const check = (value: unknown, schema: Schema, field: string, content: boolean): void => {
    if (found.length >= 20) return
    if (typeof value === 'string') {
      const most = schema.maxLength ?? (content ? longestContent : longestText)
      if (value.length > most) found.push({ field, problem: `must have at most ${most} characters` })
    } else if (Array.isArray(value)) {
      const most = schema.maxItems ?? mostItems
      if (value.length > most) found.push({ field, problem: `must have at most ${most} items` })
      else value.forEach((item, index) => check(item, schema.items ?? {}, `${field}.${index}`, content))
    } else if (typeof value === 'object' && value !== null) {
      const entries = Object.entries(value)
      if (entries.length > mostItems) found.push({ field, problem: `must have at most ${mostItems} fields` })
      else
        for (const [name, item] of entries) {
          const known = schema.properties && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
          check(item, known ?? {}, field === '' ? name : `${field}.${name}`, content || tool.contents.includes(name))
        }
    }
  }
  check(input, tool.input as Schema, '', false)
  return found
}
