import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readSmall } from './small-file.ts'
import { stampOf } from './settings-file.ts'

export interface TemplateText {
  name: string
  text: string
}

const mostFiles = 200
const longest = 262_144

/** The files of a folder that may be templates; the same list as long as none of them changed. */
export function openTemplateFiles(folder: string): () => readonly TemplateText[] {
  let stamp = ''
  let found: readonly TemplateText[] = []
  return () => {
    const names = namesIn(folder)
    const now = `${names.join('/')} ${stampOf(names.map((name) => join(folder, name)))}`
    if (now === stamp) return found
    stamp = now
    found = names.map((name) => ({ name, text: readSmall(join(folder, name), longest) ?? '' }))
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
