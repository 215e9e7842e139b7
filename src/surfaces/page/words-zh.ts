import type { Words } from './words.ts'
import { effectIn, entryIn, noteIn, noticeIn, placeIn, titleIn, whyIn } from './zh/cards.ts'

const ago = (ms: number): string => {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 60) return `${seconds} 秒前`
  if (seconds < 3_600) return `${Math.round(seconds / 60)} 分钟前`
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} 小时前` : `${Math.round(seconds / 86_400)} 天前`
}

/** The page in Chinese. */
export const chinese: Words = {
  lang: 'zh-CN',
  other: { name: 'English', lang: 'en' },
  punctuation: { comma: '，', stop: '。', colon: '：' },
  nav: { approvals: '待审批', signOut: '退出登录', skip: '跳到答复', project: '项目' },
  risks: {
    R0: '只读',
    R1: '可以撤销',
    R2: '不能完全撤销、改动很多，或会让别的程序运行起来',
    R3: '会销毁、发布、花钱，或触及机密',
  },
  kinds: { deleted: '删除', renamed: '重命名', modified: '修改', created: '新建', mode: '权限变更' },
  headings: { deleted: '删除', renamed: '重命名', modified: '修改', created: '新建', mode: '权限变更' },
  states: { pending: '等待答复', approved: '已批准', denied: '已拒绝', expired: '已过期', used: '已批准并执行', void: '已撤回' },
  list: {
    waiting: (count) => `有 ${count} 个请求等你答复`,
    nothing: '没有等你答复的请求',
    noOlder: '没有更早的请求',
    looksAgain: (seconds) => `本页每 ${seconds} 秒刷新一次。`,
    older: (count) => `共 ${count} 个请求，查看更早的`,
    lately: '最近的答复',
    leftOut: (count) =>
      `还有 ${count} 个正在工作的项目没有显示：本页最多容纳最近使用的 24 个。要让某个项目始终显示，请停止 desk，再带上它的文件夹启动：handrail desk DIR`,
    projects: (count) => (count === 0 ? '没有正在工作的项目' : `${count} 个项目`),
  },
  card: {
    all: '全部请求',
    asked: (who, over) => `由 ${who} 通过 ${over} 提出`,
    ago,
    counts: (all, kinds) => `${all} 处改动：${kinds.join('，')}`,
    counted: (count, kind) => `${kind} ${count}`,
    sensitive: '会让别的程序运行起来',
    network: ['需要访问网络', '它能把读到的任何内容发给任何人，能连到本机的所有服务，也能监听本机端口。发出去的东西无法撤销。'],
    unconfined: ['没有隔离', '你能读取、修改、发送的一切，它都能。'],
    notShown: '此处未展示',
    wholeText: '查看全文',
    everyChange: '按名称列出全部改动',
    bytes: (before, after) =>
      before === null ? `${after ?? 0} 字节` : after === null ? `原为 ${before} 字节` : `${before} → ${after} 字节`,
    lines: (count) => `${count} 行`,
    notListed: (changes, folder, bytes) => `此处未列出：${folder} 中另有 ${changes} 处改动，共 ${bytes} 字节`,
    before: '改动前',
    after: '改动后',
    picture: '图片',
  },
  answer: {
    heading: '你的答复',
    note: '给智能体的留言（可不填）',
    approve: '批准这一项…',
    decline: '拒绝',
    unread: '我没有读完全部内容，仍然同意。（日志会如实记录。）',
    keys: '快捷键：A 批准，D 拒绝，N 留言。',
    elsewhere: (by) => `已由 ${by} 在别处回答。`,
    tooSoon: '这个请求刚出现就收到了点击，因此没有算数。请看清楚后再点一次。',
    by: '答复者',
    undo: '已写入的改动可以这样撤销：',
    noSuch: '没有这个请求',
    next: (left) => (left === 1 ? '这是最后一个等待答复的请求。' : `包括这一个，还有 ${left} 个请求等待答复。`),
  },
  questions: {
    asks: (who) => `${who} 有问题问你`,
    means: '你的回答不会批准任何操作，只会交给智能体：不要填写密码、密钥或登录链接。',
    own: '用自己的话回答',
    send: '发送自己的回答',
    answered: '已回答',
    already: '这个问题已经有人回答了，刚才发送的内容没有采用。',
    empty: '没有填写内容，因此没有作答。',
    noSuch: '没有这个问题',
  },
  confirm: {
    back: '返回查看改动',
    question: '批准这一项？',
    wrong: '数字不对，或者已经过期。请输入新的数字。',
    type: '要批准，请输入这个数字：',
    field: '上面显示的数字',
    approve: '批准',
  },
  text: { back: '返回请求', end: '到此为止。', more: '继续', every: '全部改动' },
  signIn: {
    heading: '登录 Handrail',
    means: '登录后可以看到智能体在这个项目里想做什么，并批准或拒绝。',
    button: '登录',
    once: '链接只能用一次。登录状态保持十二小时，或到 Handrail 停止为止。',
    wrongKey: '这个链接在这里无效，或已经失效。每个链接只能用一次，十分钟内有效，且只对生成它的服务有效。',
    onlyYou: '只有你能替智能体作答。请在项目目录里运行下面的命令，再打开它输出的链接：',
    onlyYouAtDesk: '只有你能替智能体作答。请在运行 `handrail desk` 的终端里按回车，再打开它输出的链接。',
    leads: '链接会自动带你到正确的位置。不要把其中的密钥交给任何页面，包括本页和任何索要它的页面。',
    already: '已经登录？请回到登录时的标签页，新的请求会自动出现。',
    signedIn: '已登录',
    goOn: '去看等你答复的请求',
    signingIn: '正在登录',
    on: '继续',
    out: '退出登录？',
    outMeans: '等你答复的请求会继续等待。要回来，请运行',
    outMeansAtDesk: '等你答复的请求会继续等待。要回来，请在运行 `handrail desk` 的终端里按回车。',
    sent: '是另一个页面把你带到这里的',
    sentMeans: '如果你确实要来，请继续；如果不是，请关闭本页：没有作出任何决定。',
  },
  welcome: {
    heading: 'Handrail 正在运行',
    agents: '给智能体：MCP 在 /mcp（旧客户端用 /sse），令牌在 `handrail serve` 指出的文件里。普通 HTTP 在 /agent/process：',
    person: '给你：登录后可以看到等你答复的请求，也可以在终端里运行：',
    lines: ['等你答复的请求', '做过什么', '撤销最近一次改动', '这台机器上能用什么'],
  },
  titles: { approvals: '待审批', approval: '审批', question: '问题', confirm: '确认', notFound: '未找到', text: '全文' },
  own: { note: noteIn, title: titleIn, effect: effectIn, entry: entryIn, why: whyIn, place: placeIn, notice: noticeIn },
}
