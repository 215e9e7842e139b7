import { join } from 'node:path'
import { Fault } from '../contracts/faults/fault.ts'
import type { RuntimeOptions } from '../contracts/runtime.ts'
import type { StateAdmin } from '../contracts/state.ts'
import { loadConfig } from '../config/load.ts'
import { openDatabase } from '../host/database.ts'
import { openLock } from '../host/lock.ts'
import { openOldFolder, type OldFolder } from '../host/old-state.ts'
import { pathRules } from '../host/paths.ts'
import { checkProject } from '../host/project-place.ts'
import { openStateInspector } from '../host/state-inspector.ts'
import { openProjectState } from '../host/state-project.ts'
import { closeRoot, openRoot } from '../host/walk.ts'
import { importOldStates, checkOldStates } from '../stores/import.ts'
import { schema, schemaVersion } from '../stores/schema.ts'
import { openSnapshots } from '../stores/snapshots.ts'

const mostAuditBytes = 1_073_741_824

/** Wires the person's tools for the state of a project. */
export function openStateAdmin(options: RuntimeOptions): StateAdmin {
  const environment = options.environment ?? process.env
  const asked = { state: options.state, environment }
  const root = openRoot(options.project)
  // What is forbidden by default is no place to bring content to, whatever this project has set.
  const rules = pathRules(loadConfig({ flags: {} }).config.policies.forbiddenDirs)
  try {
    checkProject(root, environment, options.allows ?? [])
    const inspector = openStateInspector(root, asked)
    const inOld = <T>(act: (old: OldFolder) => T): T => {
      const old = openOldFolder(root)
      if (!old) throw new Fault('not-found', 'This project brings no .handrail folder', { hint: 'There is nothing to import.' })
      try {
        return act(old)
      } finally {
        old.close()
      }
    }
    return {
      ...inspector,
      oldState: () => inOld((old) => ({ ...checkOldStates(old, rules), auditBytes: Math.min(old.auditBytes(), mostAuditBytes) })),
      importOld: () =>
        inOld((old) => {
          const kept = openProjectState(root, asked)
          const state = kept.folder
          const lock = openLock(state.sub('locks').file('project.db'))
          const db = openDatabase(state.file('handrail.db'), schema, schemaVersion)
          try {
            const snapshots = openSnapshots(state.sub('snapshots'), db)
            const count = lock.holdNow(() => importOldStates(old, rules, snapshots))
            const imported = state.sub('imported')
            const name = `audit-${new Date().toISOString().replace(/[-:.]/g, '')}.jsonl`
            const copied = old.copyAudit(imported.at(name), mostAuditBytes)
            return { snapshots: count, auditFile: copied ? join(imported.path, name) : undefined }
          } finally {
            db.close()
            lock.close()
            kept.close()
          }
        }),
      close() {
        inspector.close()
        closeRoot(root)
      },
    }
  } catch (fault) {
    closeRoot(root)
    throw fault
  }
}
