import { picture } from './picture.ts'

/** A game as small as it can be and still be played. */
export const tinyGame: Record<string, string | Buffer> = {
  'game/config.txt': 'Game_name:Tiny;\nGame_key:tiny0001;\n',
  'game/scene/start.txt':
    'changeBg:sea.png -next;\n:The first words.;\nYukino:The sea breeze is lovely.;\n:The fourth line.;\nend;\n',
  'game/scene/deep/two.txt': ':Deep one.;\n:Deep two.;\n',
  'game/background/sea.png': picture(640, 360, [40, 120, 200]),
}

/** An engine that does nothing but what the preview needs of one: it connects, goes where it is told, and says where it is. */
export function fakeEngine(protocol: 'older' | 'newer', extra = ''): Record<string, string> {
  const script = `
    const socket = new WebSocket('ws://' + location.host + '/api/webgalsync'${protocol === 'newer' ? ", 'webgal-editor-preview-sync.v1'" : ''})
    const show = (scene, line) => {
      document.title = scene + ':' + line
      // Read to its end, as an engine does: a request that is still open is waited for.
      fetch('./game/scene/' + scene).then((answer) => answer.text())
      ${
        protocol === 'newer'
          ? "socket.send(JSON.stringify({ kind: 'event', type: 'stage.snapshot.updated', payload: { sceneName: scene, sentenceId: line, stageState: {} } }))"
          : "socket.send(JSON.stringify({ event: 'message', data: { command: 1, sceneMsg: { scene, sentence: line } } }))"
      }
    }
    let registered = false
    socket.onopen = () => {
      if (${protocol === 'newer'})
        socket.send(JSON.stringify({ kind: 'request', type: 'session.register-preview', requestId: 'r1', payload: { gameId: 'g' } }))
    }
    socket.addEventListener('message', ({ data }) => {
      const said = JSON.parse(data)
      if (said.kind === 'response' && said.requestId === 'r1') registered = true
      if (said.type === 'preview.command.sync-scene' && registered) show(said.payload.sceneName, said.payload.sentenceId)
      if (said.data?.command === 0) show(said.data.sceneMsg.scene, said.data.sceneMsg.sentence)
    })
    ${extra}`
  return {
    'index.html':
      '<!doctype html><html><head><title>none</title></head><body><script src="./assets/engine.js"></script></body></html>',
    'assets/engine.js': script,
  }
}
