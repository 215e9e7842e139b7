import { Fault } from '../../contracts/faults/fault.ts'
import type { Provider } from '../../contracts/config-agent.ts'

/** Where each provider is asked, unless the person says otherwise. */
const usual: Partial<Record<Provider, string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  ollama: 'http://127.0.0.1:11434/v1',
}

/** Providers that want a key. Of the others some do, and get the one there is. */
export const wantsKey = (provider: Provider): boolean => ['openai', 'anthropic', 'google'].includes(provider)

/** The one address that requests go to, without a slash at its end. A key is never sent to another machine in the clear. */
export function endpointOf(provider: Provider, baseUrl: string, hasKey: boolean): string {
  const address = baseUrl || usual[provider]
  if (address === undefined)
    throw new Fault('bad-input', 'No endpoint is configured for the model', {
      hint: 'Set agent.baseUrl in your own settings, such as http://127.0.0.1:8080/v1.',
    })
  const url = parse(address)
  if (url.protocol === 'http:' && hasKey && !isLoopback(url.hostname))
    throw new Fault('policy', `The key would go to ${url.host} in the clear`, {
      hint: 'Use https:// in agent.baseUrl, or an endpoint on this machine.',
    })
  return url.href.replace(/\/+$/, '')
}

function parse(address: string): URL {
  const wrong = (): Fault =>
    new Fault('bad-input', 'agent.baseUrl is no address of an endpoint', {
      hint: 'Give http:// or https://, a host and a path, without a name, a password, ? or #.',
    })
  if (!URL.canParse(address)) throw wrong()
  const url = new URL(address)
  if (!/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) throw wrong()
  return url
}

const isLoopback = (host: string): boolean => /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/i.test(host)
