import type { Provider } from '../../contracts/config-agent.ts'

/** What a provider package gives us: one model that answers with a stream. */
export type LanguageModel = ReturnType<ReturnType<typeof import('@ai-sdk/anthropic').createAnthropic>>

export interface ProviderSettings {
  provider: Provider
  model: string
  endpoint: string
  key: string | undefined
  fetch: typeof fetch
}

/**
 * The provider's own dialect, loaded when it is first asked. Endpoint, key and fetch are always given: left out, the packages take them from
 * the environment.
 */
export async function languageModel({ provider, model, endpoint, key, fetch }: ProviderSettings): Promise<LanguageModel> {
  const given = { baseURL: endpoint, apiKey: key ?? 'none', fetch }
  if (provider === 'anthropic') return (await import('@ai-sdk/anthropic')).createAnthropic(given)(model)
  if (provider === 'google') return (await import('@ai-sdk/google')).createGoogleGenerativeAI(given)(model)
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  const own = provider === 'openai'
  return createOpenAICompatible({
    name: provider,
    baseURL: endpoint,
    fetch,
    ...(key !== undefined && { apiKey: key }),
    includeUsage: true,
    supportsStructuredOutputs: own,
    // Its newer models refuse the older word.
    transformRequestBody: ({ max_tokens, ...body }) =>
      max_tokens === undefined ? body : { ...body, [own ? 'max_completion_tokens' : 'max_tokens']: max_tokens },
  }).chatModel(model)
}

/** How each is asked which models it has. */
export function listRequest({ provider, endpoint, key }: Pick<ProviderSettings, 'provider' | 'endpoint' | 'key'>): {
  url: string
  headers: Record<string, string>
} {
  const url = `${endpoint}/models`
  if (key === undefined) return { url, headers: {} }
  if (provider === 'anthropic') return { url, headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01' } }
  if (provider === 'google') return { url, headers: { 'x-goog-api-key': key } }
  return { url, headers: { authorization: `Bearer ${key}` } }
}
