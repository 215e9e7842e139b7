import type { Risk } from '../contracts/tool.ts'

/** Words of seed 004's guard. In Latin letters they stand for themselves only: `pay` is not in `display`. */
const words = [
  'rm',
  'sudo',
  'delete',
  'deletes',
  'deleting',
  'remove',
  'erase',
  'wipe',
  'overwrite',
  'overwriting',
  'execute script',
  'execute the script',
  'run script',
  'run the script',
  'payment',
  'pay',
  'pays',
  'purchase',
  'transfer money',
  'publish',
  'deploy',
  'login',
  'log in',
  'sign in',
  'password',
  'credentials',
]
const characters = [
  '删除',
  '删掉',
  '清空',
  '覆盖',
  '执行脚本',
  '运行脚本',
  '付款',
  '支付',
  '转账',
  '登录',
  '登陆',
  '密码',
  '发布',
  '操作电脑',
  '点击',
]

const latin = new RegExp(
  `(?<![\\p{L}\\p{N}_-])(?:${words.map((one) => one.replaceAll(' ', '\\s+')).join('|')})(?![\\p{L}\\p{N}_-])`,
  'iu',
)
const chinese = new RegExp(characters.join('|'), 'u')

/** What a request speaks of may raise the risk of all that follows; nothing here lowers it. */
export function guardOf(text: string): { risk: Risk; word: string } | undefined {
  const word = latin.exec(text)?.[0] ?? chinese.exec(text)?.[0]
  return word === undefined ? undefined : { risk: 'R2', word: word.toLowerCase() }
}
