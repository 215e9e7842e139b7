/** Under this name the page says where it is. */
export const progressGlobal = '__handrailPreview'

/**
 * Put into the page before the engine: stands in for the editor the engine looks for, and tells it to go to the scene and line in
 * the address (`#scene=NAME&line=N`), now and whenever the address changes. Speaks both protocols of the engine. It also answers
 * the question for a language, which would cover everything.
 */
export const jumpScript = `(() => {
  const place = '/api/webgalsync'
  const newer = 'webgal-editor-preview-sync.v1'
  const now = (window.${progressGlobal} = { scene: '', line: 0, reports: 0, jumps: 0 })
  const wanted = () => {
    const given = new URLSearchParams(location.hash.slice(1))
    const scene = given.get('scene')
    const line = Number.parseInt(given.get('line') ?? '1', 10)
    return scene && { scene: /\\.txt$/i.test(scene) ? scene : scene + '.txt', line: line >= 1 ? line : 1 }
  }
  try {
    const spoken = { zh: '0', ja: '2', fr: '3', de: '4' }
    if (!localStorage.getItem('lang')) localStorage.setItem('lang', spoken[navigator.language.slice(0, 2)] ?? '1')
  } catch {}
  const open = new Set()
  class Editor extends EventTarget {
    static CONNECTING = 0
    static OPEN = 1
    static CLOSING = 2
    static CLOSED = 3
    CONNECTING = 0
    OPEN = 1
    CLOSING = 2
    CLOSED = 3
    onopen = null
    onmessage = null
    onerror = null
    onclose = null
    binaryType = 'blob'
    bufferedAmount = 0
    extensions = ''
    readyState = 0
    registered = false
    constructor(url, protocols) {
      super()
      this.url = String(url)
      this.protocol = [protocols ?? []].flat().includes(newer) ? newer : ''
      setTimeout(() => {
        if (this.readyState !== 0) return
        this.readyState = 1
        open.add(this)
        this.say(new Event('open'))
        if (this.protocol === '') this.jump()
      }, 0)
    }
    say(event) {
      this['on' + event.type]?.(event)
      this.dispatchEvent(event)
    }
    tell(message) {
      setTimeout(() => this.say(new MessageEvent('message', { data: JSON.stringify(message) })), 0)
    }
    jump() {
      const to = wanted()
      if (!to) return
      now.jumps++
      if (this.protocol === newer) {
        const payload = { sceneName: to.scene, sentenceId: to.line }
        if (this.registered)
          this.tell({ kind: 'request', type: 'preview.command.sync-scene', requestId: 'handrail-' + now.jumps, payload })
      } else
        this.tell({
          event: 'message',
          data: { command: 0, sceneMsg: { scene: to.scene, sentence: to.line }, stageSyncMsg: {}, message: 'Sync' },
        })
    }
    send(text) {
      let message
      try {
        message = JSON.parse(text)
      } catch {
        return
      }
      if (message?.kind === 'request' && message.type === 'session.register-preview') {
        this.tell({ kind: 'response', type: message.type, requestId: message.requestId, payload: {} })
        this.registered = true
        this.jump()
      }
      const at =
        message?.data?.command === 1
          ? [message.data.sceneMsg?.scene, message.data.sceneMsg?.sentence]
          : message?.type === 'stage.snapshot.updated'
            ? [message.payload?.sceneName, message.payload?.sentenceId]
            : undefined
      if (at && now.jumps > 0) {
        ;[now.scene, now.line] = [String(at[0] ?? ''), Number(at[1] ?? 0)]
        now.reports++
      }
    }
    close() {
      if (this.readyState === 3) return
      this.readyState = 3
      open.delete(this)
      this.say(new CloseEvent('close'))
    }
  }
  window.WebSocket = new Proxy(window.WebSocket, {
    construct(real, given) {
      const to = new URL(given[0], location.href)
      return to.pathname.endsWith(place) ? new Editor(...given) : Reflect.construct(real, given)
    },
  })
  addEventListener('hashchange', () => {
    for (const editor of open) editor.jump()
  })
})()`

/** Software rendering draws about one and a half large pictures a second and would do nothing else. */
export const slowDrawing = `(() => {
  const every = 500
  window.requestAnimationFrame = (draw) => {
    const at = performance.now()
    return setTimeout(() => draw(performance.now()), Math.ceil((at + 1) / every) * every - at)
  }
  window.cancelAnimationFrame = (id) => clearTimeout(id)
})()`

/** The page with the script before everything else in it. */
export function withJumpScript(html: string): string {
  const tag = `<script>${jumpScript}</script>`
  const head = /<head\b[^>]*>/i.exec(html)
  if (!head) return tag + html
  const at = head.index + head[0].length
  return html.slice(0, at) + tag + html.slice(at)
}
