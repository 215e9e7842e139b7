import Type from 'typebox'
import { closed, named } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

const texts = Type.Array(Type.String())

export const getRuntimeInfo = defineTool({
  name: 'get_runtime_info',
  title: 'Runtime information',
  description: 'What this runtime allows: project root, limits, forbidden folders, tools. No secrets.',
  risk: 'R0',
  input: Type.Object({}, { ...named('get_runtime_info', 'request'), ...closed }),
  output: Type.Object(
    {
      projectRoot: Type.String({ description: '项目根目录绝对路径' }),
      snapshotRetention: Type.Integer({ minimum: 0, description: '快照保留数量' }),
      sandbox: Type.Object({
        forbiddenDirs: texts,
        maxReadBytes: Type.Integer({ minimum: 1 }),
        textEncoding: Type.Enum(['utf-8', 'utf-16', 'ascii'], { type: 'string' }),
      }),
      execution: Type.Optional(
        Type.Object(
          {
            enabled: Type.Boolean({ const: true }),
            allowedCommands: texts,
            timeoutMs: Type.Integer({ minimum: 1 }),
            workingDir: Type.Optional(Type.String()),
          },
          { description: '仅在启用时存在' },
        ),
      ),
      browser: Type.Optional(
        Type.Object(
          {
            enabled: Type.Boolean({ const: true }),
            allowedHosts: texts,
            timeoutMs: Type.Integer({ minimum: 1 }),
            screenshotDir: Type.Optional(Type.String()),
          },
          { description: '仅在启用时存在' },
        ),
      ),
      confinement: Type.Optional(
        Type.Object({ confined: Type.Boolean(), says: Type.String() }, { description: 'What programs run under here.' }),
      ),
      projectSettings: Type.Optional(
        Type.Object(
          { ignored: Type.Integer({ minimum: 0 }), says: Type.String() },
          { description: 'What of the project’s own settings does not count, until the person trusts them.' },
        ),
      ),
      projectTemplates: Type.Optional(
        Type.Object(
          { ignored: Type.Integer({ minimum: 0 }), says: Type.String() },
          { description: 'Templates that the project brings and that do not count, until the person trusts them.' },
        ),
      ),
      tools: Type.Array(Type.String(), { description: '当前注册的工具名称列表' }),
      unlisted: Type.Optional(
        Type.Object(
          { tools: texts, says: Type.String() },
          { description: 'Tools that can be called although they are not in the list, and how to get them there.' },
        ),
      ),
      server: Type.Object({ name: Type.String(), version: Type.String({ pattern: '^\\d+\\.\\d+\\.\\d+$' }) }),
    },
    named('get_runtime_info', 'response'),
  ),
  faults: [],
  examples: [
    {
      says: 'what is in force',
      input: {},
      output: { sandbox: { forbiddenDirs: ['.git', 'node_modules', '.env'], maxReadBytes: 5242880, textEncoding: 'utf-8' } },
    },
  ],
  async execute(_, { facts, confinement, unlisted, ignoredTemplates }, call) {
    const hidden = unlisted()
    const projectTemplates = ignoredTemplates()
    return {
      projectRoot: facts.projectRoot,
      snapshotRetention: facts.snapshotRetention,
      sandbox: { forbiddenDirs: facts.forbiddenDirs, maxReadBytes: facts.maxReadBytes, textEncoding: 'utf-8' as const },
      ...(call.tools.includes('execute_command') && { execution: { enabled: true as const, ...facts.execution } }),
      confinement: await confinement(),
      ...(call.tools.includes('browser_action') && { browser: { enabled: true as const, ...facts.browser } }),
      ...(facts.projectSettings && { projectSettings: facts.projectSettings }),
      ...(projectTemplates && { projectTemplates }),
      tools: [...call.tools],
      ...(hidden.length && {
        unlisted: {
          tools: hidden,
          says: 'This project has no use for them by the look of it, so they are not in the list. They can be called all the same; `--tools` with the toolsets or tools by name lists them.',
        },
      }),
      server: { name: 'handrail', version: facts.version },
    }
  },
})
