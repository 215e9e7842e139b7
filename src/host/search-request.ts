import { Fault } from '../contracts/faults/fault.ts'
import type { Files } from './files.ts'
import type { PathRules } from './paths.ts'
import type { RegexEngine } from './regex.ts'
import type { SearchPattern } from './regex-dialect.ts'
import type { Root } from './walk.ts'

export interface Match {
  path: string
  line: number
  preview: string
}

export interface SearchRequest {
  path: string
  regex: string
  filePattern: string | undefined
  most: number
  /** Whose search it is. */
  client: string
  signal: AbortSignal
  onProgress?: (filesDone: number) => void
}

/** One search under way. */
export interface SearchState {
  readonly asked: SearchRequest
  readonly pattern: SearchPattern
  cut: boolean
  /** Characters that may still be kept. */
  left: number
}

export interface SearchParts {
  root: Root
  rules: PathRules
  files: Files
  forbidden: readonly string[]
  regex: RegexEngine
  timeoutMs: number
  ripgrep: () => string | undefined
}

export function tooSlow(ms: number): Fault {
  return new Fault('timeout', `The search took longer than ${ms} ms`, {
    hint: 'Search a smaller folder, or give a filePattern.',
  })
}
