import { markIn } from './marks.ts'
import { translated, type Patterns } from './patterns.ts'

const kinds: Record<string, string> = { deleted: '删除', created: '新建', modified: '修改' }
const forms: Record<string, string> = { file: '文件', folder: '文件夹', link: '链接', other: '其他' }
const open = (text: string): string => (text === '' ? '' : '（任何人都能写入）')

/** What is said behind what happens to a path, from the last back to the first. */
const trailing: Patterns = [
  [/^(.*), executable$/s, (rest) => `${effectIn(rest)}，可执行`],
  [
    /^(.*), permissions (\d+) → (\d+)( \(anybody can write to it\))?$/s,
    (rest, was, is, all) => `${effectIn(rest)}，权限 ${was} → ${is}${open(all ?? '')}`,
  ],
  [
    /^(.*), permissions (\d+)( \(anybody can write to it\))?$/s,
    (rest, is, all) => `${effectIn(rest)}，权限 ${is}${open(all ?? '')}`,
  ],
  [/^(.*), shown whole$/s, (rest) => `${effectIn(rest)}，全文展示`],
  [/^(.*), content unchanged$/s, (rest) => `${effectIn(rest)}，内容不变`],
  [
    /^(.*), (\d+) bytes? that (?:is|are) no text written out$/s,
    (rest, count) => `${effectIn(rest)}，${count} 个非文本字节已转写`,
  ],
  [/^(.*), picture (\d+ × \d+(?: → \d+ × \d+)?)$/s, (rest, size) => `${effectIn(rest)}，图片 ${size}`],
  [/^(.*), a database that cannot be read$/s, (rest) => `${effectIn(rest)}，无法读取的数据库`],
  [/^(.*), a database that was not looked into$/s, (rest) => `${effectIn(rest)}，未查看内容的数据库`],
  [
    /^(.*), without what its (-wal|-journal|-wal and -journal) file holds$/s,
    (rest, end) => `${effectIn(rest)}，不含其 ${end?.replace(' and ', ' 和 ')} 文件中的内容`,
  ],
  [/^(.*), database in which no row of a table differs$/s, (rest) => `${effectIn(rest)}，数据库，各表的行都没有不同`],
  [/^(.*), database$/s, (rest) => `${effectIn(rest)}，数据库`],
  [/^(.*), binary$/s, (rest) => `${effectIn(rest)}，二进制`],
  [/^(.*), where nothing stands$/s, (rest) => `${effectIn(rest)}，目标处什么也没有`],
  [/^(.*) \(it may lead out of the project\)$/s, (rest) => `${effectIn(rest)}（可能指向项目之外）`],
]

const effects: Patterns = [
  [/^(deleted|created|modified)(?: (folder|link|other))?$/, (kind, form) => `${kinds[kind ?? '']}${forms[form ?? ''] ?? ''}`],
  [/^(created|modified|renamed|mode) link → (.*)$/s, (kind, to) => `${kinds[kind ?? ''] ?? '更改'}链接 → ${to}`],
  [/^renamed from (.*)$/s, (from) => `由 ${from} 重命名而来`],
  [
    /^(file|folder|link|other) becomes a (file|folder|link|other)( → .*)?$/s,
    (was, is, to) => `${forms[was ?? '']}变为${forms[is ?? '']}${to}`,
  ],
  [
    /^(folder, )?permissions (\d+) → (\d+)( \(anybody can write to it\))?$/,
    (form, was, is, all) => `${form === '' ? '' : '文件夹，'}权限 ${was} → ${is}${open(all ?? '')}`,
  ],
  [/^not changed, from now on also (.*)$/s, (names) => `没有改动，今后也叫 ${names}`],
]

/** What happens to a path. What is not known stays as it is. */
export function effectIn(says = ''): string {
  // A name that could pass for what stands behind it is in quotation marks.
  return translated(trailing, says) ?? translated(effects, says) ?? says
}

/** A line of the list of every change: a name that holds a colon is in quotation marks. */
const entries: Patterns = [
  [
    /^(“[^”]*”|.*?): (.*?)(?:; (\d+) bytes, sha256 (\w+))?$/s,
    (name, says, bytes, hash) => `${name}：${effectIn(says)}${bytes === '' ? '' : `；${bytes} 字节，sha256 ${hash}`}`,
  ],
]

export const entryIn = (line: string): string | undefined => translated(entries, line)

/** Why something of a change is not shown. */
const unshown: Patterns = [
  [/^it differs in bytes, not in lines$/, () => '字节不同，行相同'],
  [/^a picture, shown on the page$/, () => '图片，在页面上展示'],
  [/^a database, of which rows are told and not bytes$/, () => '数据库，只列出行，不列出字节'],
  [/^it is no text$/, () => '不是文本'],
  [/^what it leads to$/, () => '它指向的内容'],
  [/^the whole project, which it leads to$/, () => '它指向的整个项目'],
  [/^what it leads to, which is very much$/, () => '它指向的内容，数量很大'],
  [/^where (.*) leads, which is a link as well$/s, (name) => `${name} 指向的地方，它也是链接`],
  [/^(.*), which is no file$/s, (name) => `${name}，它不是文件`],
  [/^(.*), which tools may not read$/s, (name) => `${name}，工具不能读取`],
]

export const whyIn = (why: string): string | undefined => translated(unshown, why)

/** Places between the lines of a change. */
const places: Patterns = [
  [/^@@ line (\d+): (\d+) out, (\d+) in @@$/, (line, out, come) => `@@ 第 ${line} 行：删 ${out} 行，增 ${come} 行 @@`],
  [/^@@ too different to compare line by line: shown as whole blocks @@$/, () => '@@ 差异太大，无法逐行比较：整块展示 @@'],
  [/^@@ (\d+) more lines, NOT SHOWN HERE @@$/, (count) => `@@ 还有 ${count} 行，此处未展示 @@`],
  [/^@@ as packages @@$/, () => '@@ 按软件包看 @@'],
  [/^@@ files in the archive @@$/, () => '@@ 压缩包里的文件 @@'],
  [/^@@ (\d+) more @@$/, (count) => `@@ 还有 ${count} 项 @@`],
]

export const placeIn = (text: string): string | undefined => translated(places, text)

/** What a card asks for: our verb, and the words of whoever asks. */
const titles: Patterns = [
  [/^Run the script (.*)$/s, (name) => `运行脚本 ${name}`],
  [/^Run the check (.*)$/s, (name) => `运行检查 ${name}`],
  [/^Run (.*)$/s, (what) => `运行 ${what}`],
  [/^Let (\S+) work in (.*)$/s, (agent, where) => `让 ${agent} 在 ${where} 里工作`],
  [/^Convert (\d+) scripts to UTF-8$/, (count) => `把 ${count} 个脚本转成 UTF-8`],
  [/^Write the filmstrip (.*)$/s, (path) => `写入连环画 ${path}`],
  [
    /^Write (one artifact|(\d+) artifacts) into (.*)$/s,
    (_, count, folder) => `在 ${folder} 写入 ${count === '' ? '1' : count} 个产物`,
  ],
  [/^Write (.*) down$/s, (name) => `记录角色 ${name}`],
  [/^Write (.*)$/s, (path) => `写入 ${path}`],
  [/^Rename (.*) to (.*)$/s, (from, to) => `把 ${from} 重命名为 ${to}`],
  [/^Sign in at (.*)$/s, (where) => `在 ${where} 登录`],
  [/^Use the login saved for (.*)$/s, (site) => `使用为 ${site} 保存的登录`],
  [/^Use a saved login$/, () => '使用保存的登录'],
  [
    /^(Choose in|Click|Type into) (.*) on a page( and send (?:its form|what comes of it))?$/s,
    (act, what, sends) =>
      `${{ Click: '在页面上点击 ', 'Type into': '在页面上填写 ' }[act ?? ''] ?? '在页面上选择 '}${what}${sends === '' ? '' : '，并发送'}`,
  ],
  [/^Upload a file into (.*) on a page(.*)$/s, (what, tab) => `在页面上把文件上传到 ${what}${tab}`],
  [/^Visit a site$/, () => '访问一个网站'],
  [/^Visit (\d+) pages$/, (count) => `访问 ${count} 个页面`],
  [/^Submit a form at (.*)$/s, (where) => `在 ${where} 提交表单`],
  [/^Try (\S+) of (.*)$/s, (name, file) => `试运行 ${file} 的 ${name}`],
  [/^Change (one file|(\d+) files) by a patch plan$/, (_, count) => `按补丁计划修改 ${count === '' ? '1' : count} 个文件`],
  [/^Change (\d+) files$/, (count) => `修改 ${count} 个文件`],
  [/^Change (.*)$/s, (path) => `修改 ${path}`],
  [/^Call (.*) of the MCP server (\S+)$/s, (name, server) => `调用 MCP 服务器 ${server} 的 ${name}`],
  [/^Plan: (.*)$/s, (title) => `计划：${title}`],
]

export const titleIn = (title: string): string | undefined => translated(titles, title)

/** Reasons that end "You are asked because it …". */
const reasons: Patterns = [
  [
    /^(.*), together with what programs did unasked within the hour$/,
    (why) => `连同程序在一小时内未经询问的改动，${translated(reasons, why ?? '') ?? why}`,
  ],
  [
    /^removes, empties, moves or replaces (\S+) files? of the project$/,
    (count) => `删除、清空、移动或替换了项目里的 ${count} 个文件`,
  ],
  [/^changes (\S+) files and folders$/, (count) => `改动了 ${count} 个文件和文件夹`],
  [/^changes files of (\S+) bytes together$/, (count) => `改动的文件合计 ${count} 字节`],
  [/^makes or changes (\S+) links?$/, (count) => `新建或修改了 ${count} 个链接`],
  [/^changes the permissions of (\S+) files? or folders?$/, (count) => `更改了 ${count} 个文件或文件夹的权限`],
  [/^makes (\S+) files? or folders? that anybody can write to$/, (count) => `新建了 ${count} 个任何人都能写入的文件或文件夹`],
  [/^changes more than (\S+) lines$/, (count) => `改动超过 ${count} 行`],
  [/^is started by (\S+), which asks about everything it changes$/, (tool) => `由 ${tool} 启动，它的所有改动都要先问你`],
]

const because = (text: string): string =>
  text
    .split(', and ')
    .map((one) => translated(reasons, one) ?? one)
    .join('；')

/** Sentences of cards, each whole: a line of others never begins and ends like one of these and means something else. */
const sentences: Patterns = [
  [/^Exited (\S+) in (\d+) ms\.$/, (code, ms) => `程序以退出码 ${code} 结束，用时 ${ms} 毫秒。`],
  [/^You are asked because it (.*)\.$/s, (why) => `问你的原因：${because(why ?? '')}。`],
  [/^It had the network\.$/, () => '运行时可以访问网络。'],
  [/^It printed:$/, () => '标准输出：'],
  [/^Its errors:$/, () => '错误输出：'],
  [/^Command: (.*)$/s, (command) => `命令：${command}`],
  [/^Runs: (.*)$/s, (command) => `实际运行：${command}`],
  [/^In: (.*)$/s, (folder) => `工作目录：${folder}`],
  [/^package\.json says: (.*)$/s, (script) => `package.json 里写着：${script}`],
  [/^Arguments: (.*)$/s, (args) => `参数：${args}`],
  [/^Variables: (.*)$/s, (values) => `环境变量：${values}`],
  [/^Task: (.*)$/s, (task) => `任务：${task}`],
  [/^Fields: (.*)$/s, (fields) => `字段：${fields}`],
  [/^Chosen: (.*)$/s, (values) => `选择：${values}`],
  [/^(\d+) characters are typed\.$/, (count) => `填写 ${count} 个字符。`],
  [/^What a (?:form|page) sends cannot be taken back\.$/, () => '发出去的内容无法收回。'],
  [/^What a page was given cannot be taken back\.$/, () => '交给页面的内容无法收回。'],
  [
    /^The page is given the file (.*) \((\d+) bytes, SHA-256 (\w+)\)\.$/s,
    (file, bytes, hash) => `会把文件 ${file} 交给页面（${bytes} 字节，SHA-256 ${hash}）。`,
  ],
  [
    /^The file (".*") \((\d+) bytes, SHA-256 (\w+)\) goes into the field (.*), which the agent calls (".*")\.$/s,
    (file, bytes, hash, field, name) => `文件 ${file}（${bytes} 字节，SHA-256 ${hash}）填入字段 ${field}，智能体称它为 ${name}。`,
  ],
  [
    /^(".*") goes into the field (.*), which the agent calls (".*")\.$/s,
    (value, field, name) => `${value} 填入字段 ${field}，智能体称它为 ${name}。`,
  ],
  [/^Then press Enter\.$/, () => '然后按回车。'],
  [/^Then press (.*)\.$/s, (what) => `然后点击 ${what}。`],
  [
    /^It works in (.*) for (\d+) s at most, and sees nothing else of the project\.$/s,
    (where, seconds) => `它在 ${where} 里最多工作 ${seconds} 秒，看不到项目的其他部分。`,
  ],
  [/^It gets (.*), and could send them anywhere\.$/s, (means) => `它会拿到 ${means}，并且可能发往任何地方。`],
  [/^It gets no sign-in of yours\.$/, () => '它拿不到你的任何登录信息。'],
  [/^It spends on the account it is signed in with\.$/, () => '它会花费所登录账户的额度。'],
  [/^Its changes are thrown away; only what it says counts\.$/, () => '它的改动会被丢弃，只保留它说的话。'],
  [
    /^The name and password that the run was handed in with are filled in there\. Nothing of them is shown or kept after the run\.$/,
    () => '会在那里填写提交运行时给出的用户名和密码。运行结束后不展示也不保留。',
  ],
  [
    /^The login is saved, encrypted, until nobody used it for 90 days or you remove it \(handrail logins\)\. You are asked before another client, or a later process, uses it\.$/,
    () => '登录会加密保存，直到 90 天无人使用，或你用 handrail logins 删除。别的客户端或之后的进程使用前会先问你。',
  ],
  [
    /^Pages are then opened as the one who signed in there, by this client and no other, until you remove the login: handrail logins remove\.$/,
    () => '之后会以那里的登录者身份打开页面，只限这个客户端，直到你删除登录：handrail logins remove。',
  ],
  [/^Saved (\S+), used last (\S+)\.$/, (saved, used) => `保存于 ${saved}，上次使用 ${used}。`],
  [
    /^What it does is known to that server alone: Handrail cannot undo it\. It is sent exactly this:$/,
    () => '它做什么只有那个服务器知道，Handrail 无法撤销。发给它的内容原样如下：',
  ],
  [/^The server says of it: (.*)$/s, (says) => `服务器对它的说明：${says}`],
  [/^It is sent to (.*), which may do anything with it\.$/s, (where) => `会发往 ${where}，对方可以任意处置。`],
  [/^That server runs unconfined: it can reach all that you can\.$/, () => '那个服务器没有隔离运行：你能触及的一切，它都能。'],
  [
    /^That server runs confined, (with the|without a) network; it may read (.*) and change (.*)\.$/s,
    (net, reads, writes) =>
      `那个服务器隔离运行，${net === 'with the' ? '可以' : '不能'}访问网络；可以读取 ${reads === 'nothing of yours' ? '（无）' : reads}，可以修改 ${writes === 'nothing' ? '（无）' : writes}。`,
  ],
  [
    /^(This site|These (\d+) sites) would be visited, and learn what is in the addresses: (.*)\.$/s,
    (_, count, sites) => `会访问${count === '' ? '这个网站' : `这 ${count} 个网站`}，它们会知道地址里的内容：${sites}。`,
  ],
  [
    /^You will not be asked again for them in this session\. `handrail grants` takes it back\.$/,
    () => '本次会话不会再为它们问你。`handrail grants` 可以收回。',
  ],
  [
    /^You will not be asked again for (.*) in this session, for the same reasons\.$/s,
    (names) => `本次会话不会再以同样的理由就 ${names} 问你。`,
  ],
  [/^There are (\d+) more reasons of this kind\.$/, (count) => `还有 ${count} 条同类理由。`],
  [/^What it changes in the project is shown to you before it counts\.$/, () => '它对项目的改动会先给你看，你同意后才生效。'],
  [
    /^Plain changes it makes in the project are applied and can be undone; anything more is shown to you before it counts\.$/,
    () => '普通改动会直接写入项目，可以撤销；超出普通范围的改动会先给你看，你同意后才生效。',
  ],
  [
    /^With the network: it can reach the internet and every service on this machine, and listen on its ports, where it can pose as another server\.$/,
    () => '可以访问网络：能连到互联网和本机的所有服务，也能监听本机端口，冒充别的服务器。',
  ],
  [
    /^NOT CONFINED: it can read, change and send whatever you can\. (.*)$/s,
    (why) => `没有隔离：你能读取、修改、发送的一切，它都能。${translated(confinement, why ?? '') ?? why}`,
  ],
  [/^Not applied: (\d+) more that are not named here\.$/, (count) => `未写入：另有 ${count} 项，此处未列出。`],
  [/^Not applied: (.*) \((.*)\)\.$/s, (names, why) => `未写入：${names}（${translated(leftovers, why ?? '') ?? why}）。`],
  [
    /^(.*) gets characters nobody sees: (.*)\. They are written out above\.$/s,
    (name, found) => `${name} 加入了看不见的字符：${found}。上面已转写出来。`,
  ],
  [
    /^(.*) gets an HTML comment: agents read it, a rendered page does not show it\.$/s,
    (name) => `${name} 加入了 HTML 注释：智能体会读到，渲染后的页面不显示。`,
  ],
  [/^What was shown of it is no longer kept\.$/, () => '当时展示的内容已不再保留。'],
  [/^(\/\/\S+) is (.*)\.$/s, (mark, folder) => `${mark} 是 ${folder}。`],
]

const confinement: Patterns = [
  [/^Programs can be confined on Linux only\.$/, () => '只有 Linux 上能隔离程序。'],
  [/^bubblewrap is not installed \((.*)\)\.$/, (how) => `没有安装 bubblewrap（${how}）。`],
  [/^unshare is not installed \((.*)\)\.$/, (how) => `没有安装 unshare（${how}）。`],
]

const leftovers: Patterns = [
  [/^its path is longer than the system takes$/, () => '路径超出系统允许的长度'],
  [/^it is a pipe, socket or device$/, () => '它是管道、套接字或设备'],
  [/^the folder in its place holds what no commit removes$/, () => '原处的文件夹里有不会被移除的内容'],
  [/^its name is not UTF-8 text$/, () => '名字不是 UTF-8 文本'],
  [/^it is more than (\d+) folders deep$/, (count) => `超过 ${count} 层文件夹`],
  [/^of this, only the (.*) bit: no commit gives such a bit$/, (bits) => `其中只有 ${bits} 位：写入时不会设置这种权限位`],
  [/^"(.*)" is out of reach of tools$/s, (name) => `工具够不到“${name}”`],
  [/^it lies in (.*), a folder of the system$/s, (folder) => `它在系统文件夹 ${folder} 里`],
  [/^it is a temporary file of Handrail$/, () => '它是 Handrail 的临时文件'],
  [/^it is a short name of a forbidden one$/, () => '它是某个禁用名字的短名'],
  [/^it (holds|is) (.*)$/s, (how, what) => `${how === 'holds' ? '其中有' : '它是'}${translated(secrets, what ?? '') ?? what}`],
]

const secrets: Patterns = [
  [/^values of an environment, which often are keys$/, () => '环境变量的值，往往是密钥'],
  [/^settings of a package registry with its token$/, () => '带令牌的软件包仓库设置'],
  [/^logins for other machines$/, () => '其他机器的登录信息'],
  [/^a private key or certificate$/, () => '私钥或证书'],
  [/^a private key for SSH$/, () => 'SSH 私钥'],
  [/^keys of a cloud, a cluster or a machine$/, () => '云、集群或机器的密钥'],
  [/^a safe of passwords$/, () => '密码库'],
  [/^a repository of Fossil with its logins$/, () => '带登录信息的 Fossil 仓库'],
  [/^the key of a service account$/, () => '服务账号的密钥'],
]

/** A sentence of a card: by itself, or as what is said of the files that it names first. */
export function noteIn(note: string): string | undefined {
  const known = translated(sentences, note)
  if (known !== undefined) return known
  for (let colon = note.indexOf(': '); colon >= 0 && note.endsWith('.'); colon = note.indexOf(': ', colon + 1)) {
    const says = markIn(note.slice(colon + 2, -1))
    if (says !== undefined) return `${note.slice(0, colon)}：${says}。`
  }
  return undefined
}

/** What is said above the list: settings, templates and servers of the project that do not count. */
const notices: Patterns = [
  [
    /^(\S+) of this project asks for (one thing|(\d+) things) that would loosen the rules; ignored until you trust that file: `handrail trust` shows it\.(?: (.*))?$/s,
    (file, _, count, rest) =>
      `本项目的 ${file} 有 ${count === '' ? '1' : count} 处会放宽规则，在你信任该文件之前不生效：\`handrail trust\` 会展示。${noticeIn(rest)}`,
  ],
  [
    /^(\S+) of this project names what only you may set, which is never taken from it: (.*?)\.(?: (.*))?$/s,
    (file, what, rest) => `本项目的 ${file} 写了只有你能设置的内容，从不采用：${what}。${noticeIn(rest)}`,
  ],
  [
    /^(?:One file|(\d+) files) in (\S+) of this project (?:is a template that is|are templates that are) ignored until you trust (?:it|them): `handrail trust` shows what (?:it|each) would do\.(?: (.*))?$/s,
    (count, folder, rest) =>
      `本项目 ${folder} 里有 ${count === '' ? '1' : count} 个运行模板，在你信任之前不生效：\`handrail trust\` 会展示它们做什么。${noticeIn(rest)}`,
  ],
  [
    /^Tools of mounted MCP servers are not what was accepted, and are withheld: (.*)\. `handrail mounts show NAME` shows the difference\.(?: (.*))?$/s,
    (servers, rest) =>
      `已挂载的 MCP 服务器的工具与接受时不同，暂不提供：${servers}。\`handrail mounts show NAME\` 会展示差别。${noticeIn(rest)}`,
  ],
  [/^The project's own settings cannot be used: (.*)$/s, (why) => `项目自己的设置无法使用：${why}`],
]

export function noticeIn(notice = ''): string {
  return translated(notices, notice) ?? notice
}
