import { limitsOf, type Template, type TemplateStep } from '../contracts/template.ts'
import { trustOf } from './template-catalog.ts'

/** What a template does, line by line, for whoever decides whether to let it. `titleOf`: what a tool does, where there is such a tool. */
export function describeTemplate(template: Template, titleOf: (tool: string) => string | undefined): string[] {
  const { id, version, steps } = template
  const { timeoutMs, maxItems, partial } = limitsOf(template)
  const isBatch = steps.some(({ each }) => each !== undefined)
  return [
    `It can be run as ${id} ${version}, ${trustOf(template).includes('remote') ? 'by agents here and by callers from another machine' : 'by agents on this machine only'}.`,
    ...steps.map((step, at) => `${at + 1}. ${describeStep(step, titleOf(step.tool))}`),
    `It runs for ${timeoutMs} ms at most${isBatch ? `, over ${maxItems} items at most; ${Math.round(partial * 100)} % of them must be done` : ''}.`,
    'Each step is a call like an agent’s own: checked, asked about where that is due, undoable and in the log.',
  ]
}

function describeStep({ id, tool, each, repeat, check, timeoutMs }: TemplateStep, title: string | undefined): string {
  return [
    `${id}: calls ${tool} (${title ?? 'there is no such tool here'})`,
    ...(each === undefined ? [] : [`once for each of ${each}`]),
    ...(check === undefined ? [] : [`and wants ${check} to be true`]),
    ...(repeat === true ? ['also again where it may have been done before a crash'] : []),
    ...(timeoutMs === undefined ? [] : [`each for ${timeoutMs} ms at most`]),
  ].join(', ')
}
