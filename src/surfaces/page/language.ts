import type { IncomingMessage } from 'node:http'
import { english } from './words-en.ts'
import { chinese } from './words-zh.ts'
import type { Words } from './words.ts'

/** What a person reads best: what they chose on the page, else what their browser prefers of the two. */
export function wordsFor({ headers }: IncomingMessage): Words {
  const chosen = /(?:^|; *)handrail_lang=(en|zh)(?:;|$)/.exec(headers.cookie ?? '')?.[1]
  return (chosen ?? preferred(headers['accept-language'] ?? '')) === 'zh' ? chinese : english
}

function preferred(accepted: string): string | undefined {
  const ranked = accepted
    .slice(0, 500)
    .split(',')
    .map((one) => {
      const [tag = '', ...rest] = one.trim().toLowerCase().split(';')
      const weight = Number(
        rest
          .find((part) => part.trim().startsWith('q='))
          ?.trim()
          .slice(2) ?? 1,
      )
      return { tag: tag.split('-')[0], weight: Number.isNaN(weight) ? 0 : weight }
    })
  return ranked.filter(({ tag, weight }) => weight > 0 && (tag === 'zh' || tag === 'en')).sort((a, b) => b.weight - a.weight)[0]
    ?.tag
}
