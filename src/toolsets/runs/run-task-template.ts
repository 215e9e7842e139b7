import Type from 'typebox'
import { runBounds, runModes, RunShape } from '../../contracts/run.ts'
import { AnyObject, closed } from '../../contracts/shapes.ts'
import { defineTool, originOf } from './use.ts'

const short = (description: string) => Type.String({ minLength: 1, maxLength: runBounds.keyLength, description })
const { runId, sessionId, status } = RunShape.properties

export const runTaskTemplate = defineTool({
  name: 'run_task_template',
  title: 'Run a task template',
  description:
    'Hand in work that may take minutes: it is queued, survives a restart, and every step of it is checked and written down like a call of yours. mode sync waits for the end, async answers at once (ask get_task_run), auto decides. The same idempotencyKey answers the run that is there. While a person is asked, the run waits.',
  risk: 'R1',
  input: Type.Object(
    {
      templateId: short('From list_task_templates'),
      templateVersion: Type.Optional(short('Refused where the template has another version')),
      sessionId: Type.Optional(short('A browser session that was kept')),
      inputs: Type.Optional(AnyObject({ description: "As the template's inputsSchema has them" })),
      options: Type.Optional(
        Type.Object(
          {
            mode: Type.Optional(Type.Enum([...runModes], { type: 'string', default: 'auto' })),
            timeoutMs: Type.Optional(
              Type.Integer({
                minimum: 1,
                maximum: runBounds.asyncTimeoutMs,
                description: 'Counts while it runs, not while it waits',
              }),
            ),
            idempotencyKey: Type.Optional(short('One run for each template and key, as long as its record is kept')),
            outputSchema: Type.Optional(
              AnyObject({ description: 'What the result is to fit, where a model is configured; without one it is ignored' }),
            ),
          },
          closed,
        ),
      ),
    },
    closed,
  ),
  output: Type.Object(
    {
      ...Type.Partial(RunShape).properties,
      runId,
      sessionId,
      status,
      mode: Type.Enum(['sync', 'async'], { type: 'string', description: 'How it was answered' }),
      deduplicated: Type.Boolean(),
    },
    closed,
  ),
  faults: [
    'template-not-found',
    'template-version',
    'trust-level',
    'session-not-found',
    'bad-input',
    'busy',
    'timeout',
    'step-failed',
    'io',
  ],
  examples: [
    {
      says: 'a report, and the caller waits for it',
      given: { 'game/scene/start.txt': 'Mara:The lamp is out.;\nend;\n' },
      input: { templateId: 'webgal_project_report', inputs: {}, options: { mode: 'sync' } },
      output: { status: 'succeeded', mode: 'sync', deduplicated: false, error: null },
    },
  ],
  private: ['inputs'],
  contents: ['inputs'],
  unhurried: true,
  async execute({ options = {}, ...given }, { runsApi }, call) {
    const at = await runsApi()
    const { run, mode, deduplicated } = await at.submit({ ...given, ...options }, originOf(call))
    if (mode === 'async') return { runId: run.runId, sessionId: run.sessionId, status: run.status, mode, deduplicated }
    const ended = await at.wait(run.runId, {
      signal: call.signal,
      viewer: call,
      onProgress: ({ progress, waiting }) =>
        call.progress(progress.doneSteps, progress.totalSteps, waiting ? "waiting for a person's answer" : undefined),
    })
    return { ...ended, mode, deduplicated }
  },
})
