import { translated, type Patterns } from './patterns.ts'

/** What stands behind `built with`, `opened in` and the like: names stay, what joins them does not. */
const names = (text: string): string =>
  text
    .replace(/, some of it by itself$/, '，有些会自动运行')
    .replace(/, or when an editor opens it$/, '，编辑器打开时也会')
    .replace('VS Code or one of its kin', 'VS Code 或同类编辑器')
    .replace('an IDE of JetBrains', 'JetBrains 的 IDE')
    .replace('that editor', '该编辑器')
    .replace('the editor of that game engine', '该游戏引擎的编辑器')
    .replace('an editor that speaks to such a server', '会连接这种服务器的编辑器')
    .replaceAll(/, | or /g, '、')

const of = (says: string): string => markIn(says) ?? says

/** Why a file is special, after its name. */
const marks: Patterns = [
  [/^(.*), and is removed or emptied$/s, (says) => `${of(says)}，而且会被删除或清空`],
  [/^is also (.*), which (.*)$/s, (name, says) => `也就是 ${name}，后者${of(says)}`],
  [/^is read in the place of (.*?), which (.*)$/s, (name, says) => `会代替 ${name} 被读取，后者${of(says)}`],
  [
    /^(is|may be) (included|started) by (.*), which (is too large to be looked at whole and )?(.*)$/s,
    (sure, how, name, large, says) =>
      `${sure === 'is' ? '' : '可能'}由 ${name} ${how === 'included' ? '引入' : '启动'}，后者${large === '' ? '' : '太大，无法完整检查，并且'}${of(says)}`,
  ],
  [/^leads to (.*), which holds what (.*)$/s, (name, says) => `指向 ${name}，其中的内容${of(says)}`],
  [/^leads to (.*), which (.*)$/s, (name, says) => `指向 ${name}，后者${of(says)}`],
  [
    /^is a link to (.*), and from now on what is written there counts here; it (.*)$/s,
    (name, says) => `是指向 ${name} 的链接，今后写到那里的内容在这里生效；它${of(says)}`,
  ],
  [/^holds what (.*)$/s, (says) => `其中的内容${of(says)}`],
  [/^runs by itself$/, () => '会自动运行'],
  [/^is on your list of sensitive files$/, () => '在你的敏感文件清单上'],
  [/^may be another name of a file that runs something$/, () => '可能是某个会运行东西的文件的别名'],
  [/^can be executed, and is another from now on$/, () => '可以执行，今后内容不同'],
  [/^can be executed from now on$/, () => '今后可以执行'],
  [/^is new, and can be executed by its first bytes$/, () => '是新文件，开头的字节使它可以执行'],
  [/^can be executed by its first bytes from now on$/, () => '今后开头的字节使它可以执行'],
  [/^keeps files back no more$/, () => '不再把文件挡在外面'],
  [/^counts in the place of \.gitignore from now on$/, () => '今后代替 .gitignore 生效'],
  [/^lets files into commits, packages or images that it kept back$/, () => '让原本挡住的文件进入提交、软件包或镜像'],
  [
    /^makes its folder a git repository of its own, whose settings run programs with every call of git$/,
    () => '使所在文件夹成为独立的 git 仓库，其设置会在每次调用 git 时运行程序',
  ],
  [/^may have so many names by way of links that not all of them were looked at$/, () => '通过链接可能有太多名字，没有全部检查'],
  [
    /^(a change of it was declined in a client's form|you declined a change of it) on (\S+) at (\S+) UTC(.*) \(handrail approvals lift (\w+) takes that back\)$/s,
    (who, day, time, note, id) =>
      `${who === 'you declined a change of it' ? '你' : '客户端表单'}在 ${day} ${time} UTC 拒绝过对它的改动${note}（handrail approvals lift ${id} 可以收回）`,
  ],
  [/^runs when you build, test or install with (.*)$/, (what) => `用 ${names(what)} 构建、测试或安装时会运行`],
  [
    /^runs when you open the folder in (.*)$/,
    (what) =>
      what === 'a container, parts of it on this machine'
        ? '在容器里打开文件夹时会运行，其中一部分在本机运行'
        : `用 ${names(what)} 打开文件夹时会运行`,
  ],
  [/^runs when you build, test or serve with PHP$/, () => '用 PHP 构建、测试或启动服务时会运行'],
  [/^runs when you build, test or lint$/, () => '构建、测试或静态检查时会运行'],
  [/^runs when you build or test$/, () => '构建或测试时会运行'],
  [/^runs when you build or start the container$/, () => '构建或启动容器时会运行'],
  [/^runs when you configure or make, even with make -n$/, () => '执行 configure 或 make 时会运行，make -n 也不例外'],
  [/^runs when you debug$/, () => '调试时会运行'],
  [/^runs when you press F5$/, () => '按 F5 时会运行'],
  [/^runs when you run a task$/, () => '运行任务时会运行'],
  [/^runs when you enter the folder in a shell$/, () => '在终端进入文件夹时会运行'],
  [/^picks which binary runs when you enter the folder in a shell$/, () => '决定在终端进入文件夹后运行哪个程序'],
  [/^runs when an editor with a language server opens the folder$/, () => '带语言服务器的编辑器打开文件夹时会运行'],
  [/^runs when R or RStudio is started here$/, () => '在这里启动 R 或 RStudio 时会运行'],
  [/^runs when submodules are updated$/, () => '更新子模块时会运行'],
  [/^runs when others are updated with it$/, () => '别的项目随它更新时会运行'],
  [/^runs when it is planned or applied$/, () => '执行 plan 或 apply 时会运行'],
  [/^runs when it is packaged, checked or typeset$/, () => '打包、检查或排版时会运行'],
  [/^runs when it is double-clicked$/, () => '双击时会运行'],
  [/^runs when it is opened with macros on$/, () => '在启用宏的情况下打开时会运行'],
  [/^runs when the package is built$/, () => '构建软件包时会运行'],
  [/^runs when a program loads it$/, () => '被程序加载时会运行'],
  [/^runs with git on a commit, checkout or push$/, () => '用 git 提交、检出或推送时会运行'],
  [/^runs with git on a commit or push$/, () => '用 git 提交或推送时会运行'],
  [
    /^runs with every call of git, also by editors and shell prompts$/,
    () => '每次调用 git 时都会运行，编辑器和终端提示符的调用也算',
  ],
  [
    /^runs with every call of (Mercurial.*), also by editors and shell prompts$/,
    (what) => `每次调用 ${names(what)} 时都会运行，编辑器和终端提示符的调用也算`,
  ],
  [/^runs with every start of that Python$/, () => '每次启动该 Python 时都会运行'],
  [/^runs with the tests, as any test does$/, () => '和其他测试一样，随测试运行'],
  [/^runs after a push, with the secrets of the CI$/, () => '推送后带着 CI 的机密运行'],
  [/^runs under its name where its folder is on the PATH$/, () => '所在文件夹在 PATH 上时，会以它的名字运行'],
  [/^runs something, or lets it run, when an agent is started here$/, () => '在这里启动智能体时会运行东西，或允许运行'],
  [/^is a template of runs, which agents can use once you trusted it$/, () => '是运行模板，你信任之后智能体就能使用'],
  [/^is what a model is asked, once you trusted it$/, () => '你信任之后，它就是给模型的提示'],
  [/^tells agents what to do$/, () => '告诉智能体做什么'],
  [/^keeps agents from reading files: a line less, and they read more$/, () => '不让智能体读某些文件：少一行，它们就能多读一些'],
  [/^picks the programs git runs on a file, and hides changes$/, () => '决定 git 对文件运行哪些程序，并能隐藏改动'],
  [/^does something when somebody looks at the folder in Explorer$/, () => '有人在资源管理器里查看文件夹时会起作用'],
  [/^is read by GitHub, its bots and reviews$/, () => '会被 GitHub、它的机器人和代码审查读取'],
  [/^counts when it is deployed, reviewed or updated by a bot$/, () => '部署、审查或由机器人更新时生效'],
  [/^may hold secrets of an application$/, () => '可能含有应用的机密'],
  [/^may hold keys$/, () => '可能含有密钥'],
  [/^may hold keys of a cloud or of infrastructure$/, () => '可能含有云或基础设施的密钥'],
  [/^may hold the token of a package registry$/, () => '可能含有软件包仓库的令牌'],
  [/^may hold passwords or private data$/, () => '可能含有密码或私人数据'],
]

export const markIn = (says: string): string | undefined => translated(marks, says)
