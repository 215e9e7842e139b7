import type { ChainClaim, ChainVerdict } from './check-chain.ts'

/** As much of a browser's document as the page uses: text is set, never markup. */
export interface PageNode {
  textContent: string | null
  className: string
  hidden: boolean
  value: string
  open: boolean
  append(...nodes: PageNode[]): void
  replaceChildren(...nodes: PageNode[]): void
  addEventListener(event: string, listener: () => void): void
}
export interface PageDocument {
  documentElement: { lang: string }
  getElementById(id: string): PageNode | null
  createElement(name: string): PageNode
}

export interface LogFacts extends ChainClaim {
  project: string
  exportedAt: string
}

interface Line {
  seq: number
  at: string
  event: string
  call?: string
  tool?: string
  risk?: string
  client?: string
  surface?: string
  by?: string
  approved?: boolean
  outcome?: string
  error?: string
  message?: string
  ms?: number
  input?: Record<string, unknown>
  touches?: { path?: string }[]
  details?: { exitCode?: number }
}

/**
 * Shows a log in a browser, each call as a story, below what the check of it found. Like `checkChain` it uses nothing from outside itself: it is put into the
 * exported page as it stands.
 */
export function showLog(
  page: PageDocument,
  check: (lines: readonly string[], claim: ChainClaim) => ChainVerdict,
  facts: LogFacts,
  chinese: boolean,
): void {
  const pick = (english: string, other: string): string => (chinese ? other : english)
  // What cannot be seen is shown, not obeyed: names and messages are those of agents.
  const plain = (text: string): string =>
    text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u3164\uffa0]/gu, (found) =>
      found === '\n' ? ' ' : `\\u{${found.codePointAt(0)?.toString(16)}}`,
    )
  const make = (name: string, className: string, text = ''): PageNode => {
    const node = page.createElement(name)
    node.className = className
    if (text !== '') node.textContent = plain(text)
    return node
  }
  const at = (id: string): PageNode => page.getElementById(id) as PageNode
  const texts = (at('log').textContent ?? '').split('\n').filter((line) => line.trim() !== '')
  const verdict = check(texts, facts)
  at('verdict').className = verdict.whole ? 'good' : 'bad'
  const later = verdict.whole && verdict.from !== 1
  at('verdict').textContent = verdict.whole
    ? pick(
        `Log intact${later ? ` from entry ${verdict.from} on (the earlier ones are not on this page)` : ''}: ${verdict.entries} entries, head ${verdict.head}`,
        `日志完整${later ? `（从第 ${verdict.from} 条起，更早的不在本页）` : ''}：${verdict.entries} 条，末条哈希 ${verdict.head}`,
      )
    : pick(
        `CHANGED: entry ${verdict.entry} ${verdict.why}. Do not believe what stands below from there on.`,
        `已被改动：第 ${verdict.entry} 条有问题（${verdict.why}）。从那里起的内容不可信。`,
      )
  page.documentElement.lang = chinese ? 'zh-CN' : 'en'
  at('about').textContent = plain(
    pick(`Project ${facts.project}, exported ${facts.exportedAt}.`, `项目 ${facts.project}，导出于 ${facts.exportedAt}。`),
  )
  at('trust').textContent = pick(
    'This page checked itself, without the network, with the code it carries; the name of the project and the time of the export are not part of the log. Whoever doubts the page itself compares the head with one that was kept elsewhere (handrail audit anchor).',
    '本页没有联网，用自带的代码检查了自己；项目名称和导出时间不属于日志。若怀疑页面本身，请把末条哈希与另存的一份（handrail audit anchor）对照。',
  )

  const stories = new Map<string, Line[]>()
  for (const text of texts) {
    let line: Line
    try {
      line = JSON.parse(text) as Line
    } catch {
      continue
    }
    const key = line.call ?? `entry ${line.seq}`
    const known = stories.get(key)
    if (known) known.push(line)
    else stories.set(key, [line])
  }

  const sentence = (line: Line): string => {
    const by = line.by ?? line.client ?? ''
    const { message: words } = line
    const said = words === undefined ? '' : ` “${words}”`
    switch (line.event) {
      case 'call.start':
      case 'call.read':
        return pick(`asked for by ${by} over ${line.surface ?? '?'}`, `由 ${by} 通过 ${line.surface ?? '?'} 提出`)
      case 'approval.requested':
        return pick(`a person was asked (${line.risk ?? ''})`, `询问了人（${line.risk ?? ''}）`)
      case 'approval.decided':
        return line.approved
          ? pick(`approved by ${by}${said}`, `${by} 批准${said}`)
          : pick(`declined by ${by}${said}`, `${by} 拒绝${said}`)
      case 'call.suspended':
        return pick('nobody answered yet: the call waits', '还没有人答复：调用在等待')
      case 'call.resumed':
        return pick('went on after the answer', '得到答复后继续')
      case 'call.landed':
        return pick('its changes were applied to the project', '改动已写入项目')
      case 'call.end':
        return `${outcome([line])}${line.ms === undefined ? '' : pick(` after ${Math.round(line.ms)} ms`, `，用时 ${Math.round(line.ms)} 毫秒`)}${said}`
      default:
        return `${line.event}${by === '' ? '' : ` (${by})`}${said}`
    }
  }
  const outcome = (lines: readonly Line[]): string => {
    const end = lines.findLast(({ event }) => event === 'call.end' || event === 'call.read') ?? lines.at(-1)
    const code = end?.details?.exitCode
    if (end?.error !== undefined) return end.error
    if (typeof code === 'number' && code !== 0) return pick(`exited ${code}`, `退出码 ${code}`)
    if (end?.outcome !== undefined) return end.outcome
    return end?.event.startsWith('call.') ? pick('not ended', '未结束') : (end?.event ?? '')
  }
  const titleOf = (lines: readonly Line[]): string => {
    const input = lines.find((line) => line.input !== undefined)?.input ?? {}
    const command = ['command', 'script_path', 'templateId', 'url', 'path']
      .map((name) => input[name])
      .find((one) => typeof one === 'string')
    const paths = lines.flatMap(({ touches }) => (Array.isArray(touches) ? touches : []).flatMap(({ path }) => path ?? []))
    const tool = lines.find((line) => line.tool !== undefined)?.tool ?? lines[0]?.event ?? ''
    return `${tool} ${command ?? [...new Set(paths)].slice(0, 3).join(', ')}`.trim().slice(0, 300)
  }
  const storyOf = (lines: readonly Line[]): PageNode => {
    const story = make('details', 'story')
    const heading = make('summary', '')
    const ended = outcome(lines)
    heading.append(
      make('time', '', lines[0]?.at.slice(0, 19).replace('T', ' ') ?? ''),
      make('b', ended === 'ok' || ended === 'replayed' ? 'good' : ended.includes('.') ? 'quiet' : 'bad', ended),
      make('code', '', titleOf(lines)),
    )
    story.append(heading)
    // Only what is looked at is made: a log may hold a hundred thousand calls.
    story.addEventListener('toggle', () => {
      if (!story.open || story.className === 'story told') return
      story.className = 'story told'
      for (const line of lines) {
        const row = make('p', '')
        row.append(make('time', '', `${line.seq} · ${line.at.slice(11, 23)}`), make('span', '', sentence(line)))
        story.append(row, make('pre', 'raw', JSON.stringify(line)))
      }
    })
    return story
  }

  const all = [...stories.values()].reverse()
  let shown = 200
  const draw = (): void => {
    const words = at('find').value.trim().toLowerCase()
    const found =
      words === '' ? all : all.filter((lines) => lines.some((line) => JSON.stringify(line).toLowerCase().includes(words)))
    at('stories').replaceChildren(...found.slice(0, shown).map(storyOf))
    at('count').textContent = pick(
      `${Math.min(shown, found.length)} of ${found.length} stories, newest first`,
      `共 ${found.length} 条记录，显示 ${Math.min(shown, found.length)} 条，最新的在前`,
    )
    at('more').hidden = found.length <= shown
  }
  at('find-label').textContent = pick('Find a path, tool, client or outcome', '按路径、工具、客户端或结果查找')
  at('more').textContent = pick('More', '更多')
  at('find').addEventListener('input', () => {
    shown = 200
    draw()
  })
  at('more').addEventListener('click', () => {
    shown += 200
    draw()
  })
  draw()
}
