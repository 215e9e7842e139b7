import { listFiles } from './list-files.ts'
import { listSnapshots } from './list-snapshots.ts'
import { readFile } from './read-file.ts'
import { replaceInFile } from './replace-in-file.ts'
import { replaceInFiles } from './replace-in-files.ts'
import { restoreSnapshot } from './restore-snapshot.ts'
import { searchFiles } from './search-files.ts'
import { undo } from './undo.ts'
import { writeToFile } from './write-to-file.ts'

/** Reading, writing and searching the project, and what is kept of it. */
export const files = [
  listFiles,
  readFile,
  writeToFile,
  replaceInFile,
  replaceInFiles,
  searchFiles,
  listSnapshots,
  restoreSnapshot,
  undo,
]
export type { FileUse } from './use.ts'
