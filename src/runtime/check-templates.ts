import { basename } from 'node:path'
import { readSmall } from '../host/small-file.ts'
import { longestTemplate, openTemplateFiles, templatesFolder } from '../host/template-files.ts'
import { readTemplate } from '../runs/template-catalog.ts'
import { builtInTemplates } from './templates.ts'

/** What is wrong with files that shall be templates; without any, with those in the person's folder. */
export async function checkTemplates(
  files: readonly string[],
  offers: (tool: string) => boolean,
  environment: Record<string, string | undefined>,
): Promise<{ name: string; wrong: string[] }[]> {
  const own = openTemplateFiles(templatesFolder(environment))
  const given: readonly { name: string; text: string | undefined }[] =
    files.length === 0 ? own() : files.map((file) => ({ name: basename(file), text: readSmall(file, longestTemplate) }))
  return given.map(({ name, text }) => ({
    name,
    wrong:
      text === undefined
        ? [`it cannot be read, or has more than ${longestTemplate} bytes`]
        : readTemplate({ text }, builtInTemplates, offers).wrong,
  }))
}
