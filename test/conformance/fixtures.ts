import { setTimeout as pause } from 'node:timers/promises'
import {
  type ElicitRequestFormParams,
  type InputRequests,
  inputRequired,
  inputResponse,
  MissingRequiredClientCapabilityError,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { OpenFixtures } from '../../src/surfaces/mcp/fixtures.ts'

// What the official conformance suite wants to find on a server: tools, resources and prompts with fixed names and fixed answers.

type Surroundings = Parameters<OpenFixtures>[0]

/** The fixtures for one server instance. */
export const openFixtures: OpenFixtures = (surroundings) => {
  return {
    tools: listedTools,
    call: (name, input, context) => own(tools, name)?.answer({ ...surroundings, name, input, context }),
    resources: listedResources,
    templates: [templated],
    read: (uri) => {
      const content = own(resources, uri)?.content ?? fromTemplate(uri)
      return content && { contents: [{ uri, ...content }] }
    },
    prompts: listedPrompts,
    prompt: (name, input, context) => own(prompts, name)?.answer({ ...surroundings, name, input, context }),
    complete: (params) => {
      const { ref, argument } = params as { ref: { name?: string; uri?: string }; argument: { value: string } }
      if (!own(prompts, ref.name ?? '') && ref.uri !== templated.uriTemplate) return undefined
      const values = ['paris', 'park', 'party', 'test'].filter((word) => word.startsWith(argument.value))
      return { completion: { values, total: values.length, hasMore: false } }
    },
  }
}

interface Call<Input> extends Surroundings {
  name: string
  input: Input
  context: ServerContext
}

interface ToolFixture {
  says: string
  schema?: object
  answer(call: Call<Record<string, unknown>>): Promise<object>
}

interface PromptFixture {
  says: string
  takes?: string[]
  answer(call: Call<Record<string, string>>): Promise<object>
}

function own<T>(table: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const silence = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA='
const image = { type: 'image', data: pixel, mimeType: 'image/png' }
const audio = { type: 'audio', data: silence, mimeType: 'audio/wav' }
const text = (words: string): object => ({ type: 'text', text: words })
const embedded = (uri: string, mimeType: string, words: string): object => ({
  type: 'resource',
  resource: { uri, mimeType, text: words },
})
const said = (words: string): object => ({ content: [text(words)] })

type Answers = Record<string, Record<string, unknown>>
type FormField = ElicitRequestFormParams['requestedSchema']['properties'][string]

const form = (message: string, properties: Record<string, FormField>): InputRequests[string] =>
  inputRequired.elicit({ message, requestedSchema: { type: 'object', properties, required: Object.keys(properties) } })
const sample = (words: string, maxTokens: number): InputRequests[string] =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: words } }], maxTokens })

/** What the client answered to each of the requests; undefined while one is missing, which is then to be asked for again. */
function answersTo(requests: InputRequests, { mcpReq }: ServerContext): Answers | undefined {
  const keys = Object.keys(requests)
  if (keys.some((key) => inputResponse(mcpReq.inputResponses, key).kind === 'missing')) return undefined
  return Object.fromEntries(keys.map((key) => [key, mcpReq.inputResponses?.[key] as Record<string, unknown>]))
}

/** Asks first and answers with what came back. A 2025 client is asked by requests of their own: the SDK sees to it. */
function asking(
  says: string,
  requests: (input: Record<string, unknown>) => InputRequests,
  finish: (answers: Answers) => string,
  more: { schema?: object; stateful?: boolean } = {},
): ToolFixture {
  return {
    says,
    ...(more.schema && { schema: more.schema }),
    async answer({ name, input, context, state }) {
      const wanted = requests(input)
      const answers = answersTo(wanted, context)
      const kept = context.mcpReq.requestState<{ tool?: string }>()
      if (answers && (!more.stateful || kept?.tool === name)) return said(finish(answers))
      return inputRequired({
        inputRequests: wanted,
        ...(more.stateful && { requestState: await state.mint({ tool: name }, context) }),
      })
    },
  }
}

const shown = (answer: Record<string, unknown> | undefined): string =>
  `action=${String(answer?.['action'])}, content=${JSON.stringify(answer?.['content'] ?? {})}`
const spoken = (answer: Record<string, unknown> | undefined): string =>
  (answer?.['content'] as { text?: string } | undefined)?.text ?? ''
const given = (answer: Record<string, unknown> | undefined, field: string): string =>
  String((answer?.['content'] as Record<string, unknown> | undefined)?.[field])
const takes = (name: string): object => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] })
const titled = (kind: string): { const: string; title: string }[] =>
  ['First', 'Second', 'Third'].map((place, at) => ({ const: `value${at + 1}`, title: `${place} ${kind}` }))

const options = ['option1', 'option2', 'option3']
const nameForm = form('What is your name?', { name: { type: 'string' } })
const confirmForm = form('Please confirm', { ok: { type: 'boolean' } })
const firstStep = form('Step 1: What is your name?', { name: { type: 'string' } })
const secondStep = form('Step 2: What is your favorite color?', { color: { type: 'string' } })

const tools: Record<string, ToolFixture> = {
  test_simple_text: {
    says: 'Answers with text',
    answer: async () => said('This is a simple text response for testing.'),
  },
  test_image_content: { says: 'Answers with an image', answer: async () => ({ content: [image] }) },
  test_audio_content: { says: 'Answers with sound', answer: async () => ({ content: [audio] }) },
  test_embedded_resource: {
    says: 'Answers with an embedded resource',
    answer: async () => ({
      content: [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
    }),
  },
  test_multiple_content_types: {
    says: 'Answers with text, an image and a resource',
    answer: async () => ({
      content: [
        text('Multiple content types test:'),
        image,
        embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
      ],
    }),
  },
  test_error_handling: {
    says: 'Always fails',
    answer: async () => ({ ...said('This tool intentionally returns an error for testing'), isError: true }),
  },
  test_tool_with_logging: {
    says: 'Logs three times while it runs',
    async answer({ context }) {
      for (const step of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await context.mcpReq.log('info', step)
        await pause(50)
      }
      return said('Logged three times')
    },
  },
  test_tool_with_progress: {
    says: 'Reports progress 0, 50, 100',
    async answer({ context: { mcpReq } }) {
      const progressToken = mcpReq._meta?.progressToken
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined)
          await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
        await pause(50)
      }
      return said('Done')
    },
  },
  test_logging_tool: {
    says: 'Logs once, which must reach only a client that asked for it',
    async answer({ context }) {
      await context.mcpReq.log('info', 'A line of log')
      return said('Logged once')
    },
  },
  test_reconnection: {
    says: 'Closes its stream before it answers; the client comes back for the answer',
    async answer({ context }) {
      await pause(50)
      context.http?.closeSSE?.()
      await pause(100)
      return said('Answered after the stream was closed')
    },
  },
  test_trigger_tool_change: {
    says: 'Tells subscribers that the list of tools changed',
    async answer({ notify }) {
      notify.toolsChanged()
      return said('Told')
    },
  },
  test_trigger_prompt_change: {
    says: 'Tells subscribers that the list of prompts changed',
    async answer({ notify }) {
      notify.promptsChanged()
      return said('Told')
    },
  },
  test_missing_capability: {
    says: 'Needs a client that can sample',
    async answer({ server }) {
      if (!server.getClientCapabilities()?.sampling)
        throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } })
      return said('The client can sample')
    },
  },
  test_sampling: asking(
    'Has the client sample',
    ({ prompt }) => ({ answer: sample(String(prompt), 100) }),
    ({ answer }) => `LLM response: ${spoken(answer)}`,
    { schema: takes('prompt') },
  ),
  test_elicitation: asking(
    'Asks for a name and an address',
    ({ message }) => ({
      answer: form(String(message), {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      }),
    }),
    ({ answer }) => `User response: ${shown(answer)}`,
    { schema: takes('message') },
  ),
  test_elicitation_sep1034_defaults: asking(
    'Asks with a default for every kind of field',
    () => ({
      answer: form('Please review', {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      }),
    }),
    ({ answer }) => `Elicitation completed: ${shown(answer)}`,
  ),
  test_elicitation_sep1330_enums: asking(
    'Asks with every kind of choice',
    () => ({
      answer: form('Please choose', {
        untitledSingle: { type: 'string', enum: options },
        titledSingle: { type: 'string', oneOf: titled('Option') },
        legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
        untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
        titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
      }),
    }),
    ({ answer }) => `Elicitation completed: ${shown(answer)}`,
  ),
  test_streaming_elicitation: asking(
    'Asks on the stream of its answer',
    () => ({ confirm: confirmForm }),
    ({ confirm }) => `Elicitation completed: ${shown(confirm)}`,
  ),
  test_input_required_result_elicitation: asking(
    'Asks for a name',
    () => ({ user_name: nameForm }),
    ({ user_name: answer }) => `Hello, ${given(answer, 'name')}!`,
  ),
  test_input_required_result_sampling: asking(
    'Has the client sample',
    () => ({ capital_question: sample('What is the capital of France?', 100) }),
    ({ capital_question: answer }) => spoken(answer),
  ),
  test_input_required_result_list_roots: asking(
    'Asks for the roots',
    () => ({ client_roots: inputRequired.listRoots() }),
    ({ client_roots: answer }) => `Roots: ${JSON.stringify(answer?.['roots'])}`,
  ),
  test_input_required_result_request_state: asking(
    'Asks, and finds its own state again',
    () => ({ confirm: confirmForm }),
    () => 'state-ok',
    { stateful: true },
  ),
  test_input_required_result_tampered_state: asking(
    'Asks, and refuses a state that is not its own',
    () => ({ confirm: confirmForm }),
    () => 'state-ok',
    { stateful: true },
  ),
  test_input_required_result_multiple_inputs: asking(
    'Asks for three things at once',
    () => ({ user_name: nameForm, greeting: sample('Generate a greeting', 50), client_roots: inputRequired.listRoots() }),
    ({ user_name: answer, greeting }) => `${spoken(greeting)} ${given(answer, 'name')}`,
    { stateful: true },
  ),
  test_input_required_result_multi_round: {
    says: 'Asks twice, one after the other',
    async answer({ context, state }) {
      const kept = context.mcpReq.requestState<{ name?: string }>()
      const first = answersTo({ step1: firstStep }, context)
      const second = answersTo({ step2: secondStep }, context)
      if (kept?.name !== undefined && second) return said(`${kept.name} likes ${given(second['step2'], 'color')}`)
      const name = first ? given(first['step1'], 'name') : kept?.name
      return inputRequired({
        inputRequests: name === undefined ? { step1: firstStep } : { step2: secondStep },
        requestState: await state.mint({ name }, context),
      })
    },
  },
  test_input_required_result_capabilities: {
    says: 'Asks only for what the client says it can do',
    async answer({ context, server }) {
      const can = server.getClientCapabilities()
      const wanted: InputRequests = {
        ...(can?.elicitation && { user_name: nameForm }),
        ...(can?.sampling && { greeting: sample('Generate a greeting', 50) }),
      }
      return Object.keys(wanted).length === 0 || answersTo(wanted, context)
        ? said('Nothing more to ask')
        : inputRequired({ inputRequests: wanted })
    },
  },
  json_schema_2020_12_tool: {
    says: 'Tool with JSON Schema 2020-12 features',
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
    answer: async ({ input }) => said(JSON.stringify(input)),
  },
}

const resources: Record<string, { says: string; content: { mimeType: string; text?: string; blob?: string } }> = {
  'test://static-text': {
    says: 'Text that never changes',
    content: { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  },
  'test://static-binary': { says: 'A picture', content: { mimeType: 'image/png', blob: pixel } },
  'test://watched-resource': { says: 'Something to subscribe to', content: { mimeType: 'text/plain', text: 'Watched.' } },
}

const templated = {
  uriTemplate: 'test://template/{id}/data',
  name: 'template',
  description: 'Data made from the address',
  mimeType: 'application/json',
}

function fromTemplate(uri: string): { mimeType: string; text: string } | undefined {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  return id === undefined
    ? undefined
    : { mimeType: templated.mimeType, text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }
}

const messages = (...contents: object[]): object => ({ messages: contents.map((content) => ({ role: 'user', content })) })
const contextForm = form('What context should the prompt use?', { context: { type: 'string' } })

const prompts: Record<string, PromptFixture> = {
  test_simple_prompt: {
    says: 'A prompt without arguments',
    answer: async () => messages(text('This is a simple prompt for testing.')),
  },
  test_prompt_with_arguments: {
    says: 'A prompt with two arguments',
    takes: ['arg1', 'arg2'],
    answer: async ({ input }) => messages(text(`Prompt with arguments: arg1='${input['arg1']}', arg2='${input['arg2']}'`)),
  },
  test_prompt_with_embedded_resource: {
    says: 'A prompt that embeds a resource',
    takes: ['resourceUri'],
    answer: async ({ input }) =>
      messages(
        embedded(String(input['resourceUri']), 'text/plain', 'Embedded resource content for testing.'),
        text('Please process the embedded resource above.'),
      ),
  },
  test_prompt_with_image: {
    says: 'A prompt with an image',
    answer: async () => messages(image, text('Please analyze the image above.')),
  },
  test_input_required_result_prompt: {
    says: 'A prompt that asks first',
    async answer({ context }) {
      const answers = answersTo({ user_context: contextForm }, context)
      if (!answers) return inputRequired({ inputRequests: { user_context: contextForm } })
      return messages(text(`Context: ${given(answers['user_context'], 'context')}`))
    },
  },
}

const listedTools = Object.entries(tools).map(([name, { says, schema }]) => ({
  name,
  description: says,
  inputSchema: schema ?? { type: 'object', properties: {} },
}))
const listedResources = Object.entries(resources).map(([uri, { says, content }]) => ({
  uri,
  name: uri.slice('test://'.length),
  description: says,
  mimeType: content.mimeType,
}))
const listedPrompts = Object.entries(prompts).map(([name, { says, takes = [] }]) => ({
  name,
  description: says,
  arguments: takes.map((argument) => ({ name: argument, description: `Test argument ${argument}`, required: true })),
}))
