import { homedir } from 'node:os'
import { dirname, isAbsolute, join, relative } from 'node:path'
import { loadConfig, type LoadedConfig } from '../config/load.ts'
import type { Config } from '../contracts/config.ts'
import { Fault, asFault } from '../contracts/faults/fault.ts'
import type { ProjectSettings } from '../contracts/project-settings.ts'
import type { RuntimeOptions } from '../contracts/runtime.ts'
import { hasIdentity, identityFolder } from '../host/identity-files.ts'
import { readSettingsFile, stampOf, type SettingsFile } from '../host/settings-file.ts'
import type { StateFolder } from '../host/state-folder.ts'
import { namesWithin } from '../host/state-place.ts'
import { closeRoot, openRoot, type Root } from '../host/walk.ts'
import { openTrust, trustFile, type TrustStore } from '../stores/trust.ts'

const file = 'handrail.config.json'

export interface LoadedSettings {
  config: Config
  settings: LoadedConfig['settings']
  /** The folder tools may enter, as names below the project. */
  within: string[]
  /** Paths below the project that tools never enter, whatever the settings say: the person's own settings lie there. */
  personal: string[]
  /** What a server watches: the settings, and whether they are trusted. */
  files: string[]
  /** Those as they were just before they were read. */
  stamp: string
  /** Where the agent's own files are, where there are some: a root that only a turn about them reaches. */
  identity: string | undefined
  project: ProjectSettings | undefined
  trust: TrustStore
  /** Paths may be written absolute, too, below the project and its further roots. */
  absolutePaths?: boolean
  /** The further roots that are within reach, by name; none without. */
  roots?: readonly string[] | 'all'
  /** Folders of the system are out of reach, wherever the roots lie. */
  refusesSystem?: true
  /** They are those of a profile, narrower than what the project's own runs are carried out under. */
  profiled?: true
}

/**
 * Reads every layer of settings. The project's file is read once: the bytes that are parsed are the bytes whose digest is looked up
 * among what the person trusted. Where that file cannot be used the stand-in counts in its place, and never loosens.
 */
export function loadSettings(
  project: Root,
  state: StateFolder,
  options: RuntimeOptions,
  standIn?: { fault: unknown; text: string },
): LoadedSettings {
  const environment = options.environment ?? process.env
  // As the XDG specification has it, a relative path does not count: it would lie wherever we were started, which may be the project.
  const absolute = (path = ''): string | undefined => (isAbsolute(path) ? path : undefined)
  const home = absolute(environment['HOME']) ?? homedir()
  const user = join(absolute(environment['XDG_CONFIG_HOME']) ?? join(home, '.config'), 'handrail', 'config.json')
  const own = join(project.path, file)
  const files = [user, own, join(state.path, trustFile)]
  const stamp = stampOf(files)
  const trust = openTrust(state, project.path)
  const found = standIn ? undefined : readSettingsFile(own, file)
  const trusted = found && trust.find(found.digest)
  const loaded = loadConfig({
    user: readSettingsFile(user, user),
    project: standIn ? { name: file, text: standIn.text } : found,
    environment,
    flags: options.flags ?? {},
    trusted: trusted?.loosenings ?? [],
    untightened: options.untightened,
    inside: (folder, other) => isInside(sandboxWithin(project, folder), sandboxWithin(project, other)),
  })
  return {
    config: loaded.config,
    settings: loaded.settings,
    within: sandboxWithin(project, loaded.config.policies.sandboxRoot),
    personal: personalIn(dirname(user), project.path),
    files,
    stamp,
    identity: hasIdentity(identityFolder(environment)) ? identityFolder(environment) : undefined,
    project: found || standIn ? aboutProject(own, found, loaded, standIn?.fault) : undefined,
    trust,
  }
}

/** What of a folder is the person's own, and nobody's to reach: their settings, and their templates wherever a link has those. */
export function personalIn(settings: string, folder: string): string[] {
  return [settings, join(settings, 'templates')].flatMap((one) => namesWithin(one, folder))
}

function aboutProject(path: string, found: SettingsFile | undefined, loaded: LoadedConfig, fault: unknown): ProjectSettings {
  const { loosenings, ignored, refused } = loaded
  const broken = fault === undefined ? undefined : asFault(fault).message
  return {
    file: path,
    digest: found?.digest,
    text: found?.text,
    loosenings,
    ignored,
    refused,
    fault: broken,
    says: inASentence(ignored.length, refused, broken),
  }
}

function inASentence(ignored: number, refused: readonly string[], broken: string | undefined): string | undefined {
  if (broken !== undefined) return `The project's own settings cannot be used: ${broken}`
  const parts = [
    ignored > 0 &&
      `${file} of this project asks for ${ignored === 1 ? 'one thing' : `${ignored} things`} that would loosen the rules; ignored until you trust that file: \`handrail trust\` shows it.`,
    refused.length > 0 &&
      `${file} of this project names what only you may set, which is never taken from it: ${refused.join(', ')}.`,
  ].filter((part) => part !== false)
  return parts.length ? parts.join(' ') : undefined
}

/** The folder tools may enter, as names below the project: it may be narrower, never wider. */
function sandboxWithin(project: Root, wanted: string): string[] {
  const path = wanted.replace('${projectRoot}', () => project.path)
  const full = isAbsolute(path) ? path : join(project.path, path)
  if (leadsOut(relative(project.path, full))) throw outside(full)
  const root = openRoot(full)
  closeRoot(root)
  const inside = relative(project.path, root.path)
  if (leadsOut(inside)) throw outside(full)
  return inside.split('/').filter(Boolean)
}

function outside(folder: string): Fault {
  return new Fault('bad-input', `policies.sandboxRoot lies outside the project: ${folder}`, {
    hint: 'It must be the project itself or a folder inside it.',
  })
}

function leadsOut(path: string): boolean {
  return path === '..' || path.startsWith('../') || isAbsolute(path)
}

function isInside(folder: readonly string[], other: readonly string[]): boolean {
  return other.every((name, index) => folder[index] === name)
}
