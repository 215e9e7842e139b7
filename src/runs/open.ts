import type { RunsApi } from '../contracts/run.ts'
import type { Template } from '../contracts/template.ts'
import { openRunsApi } from './runs-api.ts'
import { openEngine } from './engine.ts'
import type { RunPorts } from './ports.ts'
import { openTemplateCatalog, type TemplateSource } from './template-catalog.ts'

/** The engine and what is reached of it. Nothing is carried out here before something is handed in, or `work` is called. */
export function openRunsOn(
  ports: RunPorts,
  templates: TemplateSource,
  builtIn: readonly Template[],
): { runsApi: RunsApi; close(): Promise<void> } {
  const engine = openEngine(ports)
  return { runsApi: openRunsApi(ports, engine, openTemplateCatalog(templates, builtIn)), close: engine.close }
}
