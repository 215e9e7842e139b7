import { dirname, isAbsolute, relative, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { ScriptEditor } from '../../contracts/script-editor.ts'

/** A project that scripts are read from, and its folder as the editor calls it. */
export interface OpenProject {
  folder: string
  editor: ScriptEditor
}

/** A script of a project. */
export interface Script {
  project: OpenProject
  path: string
}

export interface Projects {
  /** The script at an address; nothing where it is none. */
  scriptAt(uri: string): Promise<Script | undefined>
  uriOf(project: OpenProject, path: string): string
  /** The folders that are open in the editor. */
  folders: string[]
  all(): Promise<OpenProject[]>
}

/**
 * Which project a file belongs to: the innermost folder that is open in the editor, else the one that holds its game. Where folders are
 * open, nothing outside of them is read.
 */
export function openProjects(open: (folder: string) => Promise<ScriptEditor>): Projects {
  const opened = new Map<string, Promise<OpenProject | undefined>>()
  const projectAt = (folder: string): Promise<OpenProject | undefined> => {
    const known = opened.get(folder)
    if (known) return known
    // A home folder, say, is no project; the game in it may be one.
    const made = open(folder).then(
      (editor) => ({ folder, editor }),
      () => undefined,
    )
    opened.set(folder, made)
    return made
  }
  const projects: Projects = {
    folders: [],
    async scriptAt(uri) {
      const file = fileOf(uri)
      if (file === undefined) return undefined
      const holding = projects.folders.filter((folder) => isBelow(folder, file)).toSorted((a, b) => b.length - a.length)
      const alone = gameFolder(file).filter(
        (folder) => projects.folders.length === 0 || projects.folders.some((one) => isBelow(one, folder)),
      )
      for (const folder of [...holding, ...alone]) {
        const project = await projectAt(folder)
        const path = project?.editor.pathOf(relative(folder, file).split(sep).join('/'))
        if (project && path !== undefined) return { project, path }
      }
      return undefined
    },
    uriOf: ({ folder }, path) => pathToFileURL(`${folder}${sep}${path.split('/').join(sep)}`).href,
    all: async () => (await Promise.all(opened.values())).filter((one) => one !== undefined),
  }
  return projects
}

export function fileOf(uri: string): string | undefined {
  try {
    return uri.startsWith('file:') ? fileURLToPath(uri) : undefined
  } catch {
    return undefined
  }
}

function isBelow(folder: string, file: string): boolean {
  const path = relative(folder, file)
  return path !== '' && !path.startsWith('..') && !isAbsolute(path)
}

/** The folder that holds `game`, where a file lies in `game/scene`. */
function gameFolder(file: string): string[] {
  const at = file.lastIndexOf(`${sep}scene${sep}`)
  return at > 0 ? [dirname(file.slice(0, at))] : []
}
