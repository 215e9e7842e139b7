import { readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { readSmall } from './small-file.ts'
import { stampOf } from './settings-file.ts'

export interface TemplateText {
  name: string
  text: string
}

const mostFiles = 200
/** A template is a page of text: nothing longer is read. */
export const longestTemplate = 262_144

/** Where the person's own lie: beside their settings, which no tool reaches. */
export function templatesFolder(environment: Record<string, string | undefined>): string {
  const { XDG_CONFIG_HOME: config = '', HOME: home = '' } = environment
  const base = isAbsolute(config) ? config : join(isAbsolute(home) ? home : homedir(), '.config')
  return join(base, 'handrail', 'templates')
}

/** The files of a folder that may be templates; the same list as long as none of them changed. */
export function openTemplateFiles(folder: string): () => readonly TemplateText[] {
  let stamp = ''
  let found: readonly TemplateText[] = []
  return () => {
    const names = namesIn(folder)
    const now = `${names.join('/')} ${stampOf(names.map((name) => join(folder, name)))}`
    if (now === stamp) return found
    stamp = now
    found = names.map((name) => ({ name, text: readSmall(join(folder, name), longestTemplate) ?? '' }))
    return found
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.json') && !name.startsWith('.'))
      .sort()
      .slice(0, mostFiles)
  } catch {
    // There is no such folder, and most people have none.
    return []
  }
}
