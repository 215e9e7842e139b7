/** A sentence we promised, and where it stands. `later`: a later issue builds it; until then it is printed red and counted apart. */
interface Requirement {
  source: string
  says: string
  later?: string
}

const agent = 'the agent and the Studio'

/** Every promise of seed 000, in its order. `proves(id, …)` in a test is the proof; `npm run proof` prints both side by side. */
export const requirements = {
  // §0 global rules
  version: { source: '000 §0.1', says: 'contractVersion is "1.0.0"' },
  'errors.shape': { source: '000 §0.2', says: 'a failing tool returns {error:{code,message,details,hint,recoverable}}' },
  'errors.codes': { source: '000 §0.2', says: 'the fifteen error codes are the ones listed, no others' },
  'errors.deny-path': { source: '000 §0.2', says: 'E_DENY_PATH: outside the root or forbidden' },
  'errors.not-found': { source: '000 §0.2', says: 'E_NOT_FOUND' },
  'errors.io': { source: '000 §0.2', says: 'E_IO' },
  'errors.too-large': { source: '000 §0.2', says: 'E_TOO_LARGE' },
  'errors.encoding': { source: '000 §0.2', says: 'E_ENCODING' },
  'errors.parse-fail': { source: '000 §0.2', says: 'E_PARSE_FAIL' },
  'errors.lint-fail': { source: '000 §0.2', says: 'E_LINT_FAIL' },
  'errors.conflict': { source: '000 §0.2', says: 'E_CONFLICT: the content changed' },
  'errors.preview-fail': { source: '000 §0.2', says: 'E_PREVIEW_FAIL' },
  'errors.timeout': { source: '000 §0.2', says: 'E_TIMEOUT' },
  'errors.policy': { source: '000 §0.2', says: 'E_POLICY_VIOLATION: not allowed' },
  'errors.disabled': { source: '000 §0.2', says: 'E_TOOL_DISABLED' },
  'errors.unsupported': { source: '000 §0.2', says: 'E_UNSUPPORTED' },
  'errors.bad-args': { source: '000 §0.2', says: 'E_BAD_ARGS' },
  'errors.internal': { source: '000 §0.2', says: 'E_INTERNAL' },
  'paths.relative': { source: '000 §0.3', says: 'relative paths start at the project root' },
  'paths.no-absolute': { source: '000 §0.3', says: 'absolute paths are forbidden' },
  'paths.no-climbing': { source: '000 §0.3', says: '".." is forbidden' },
  'paths.forbidden-dirs': { source: '000 §0.3', says: '.git/, node_modules/ and .env/ are blocked by default' },
  'modes.developer-only': {
    source: '000 §0.3',
    says: 'execute_command and browser_action only in developer mode',
  },
  'write.diff-first': {
    source: '000 §0.4',
    says: 'write_to_file must be rehearsed with dryRun: true before dryRun: false lands',
  },
  'diff.shape': {
    source: '000 §0.4',
    says: 'a diff is {type:"line",hunks:[{startOld,lenOld,startNew,lenNew,linesOld,linesNew}]}',
  },
  'snapshot.id': {
    source: '000 §0.4',
    says: 'a successful write returns snapshotId "snap_YYYYMMDDThhmmss_<8hex>", for rollback',
  },
  idempotency: { source: '000 §0.4', says: 'the same idempotencyKey on the same file and content does not write twice' },
  'network.none': { source: '000 §0.5', says: 'tools make no network access' },
  'commands.allow-list': { source: '000 §0.5', says: 'only allowed script names of package.json may run' },
  'browser.allow-list': { source: '000 §0.5', says: 'only http://localhost:* and http://127.0.0.1:* may be opened' },
  // §1 files and search
  'list.children': { source: '000 §1.1', says: 'list_files lists files and folders below a relative path' },
  'list.globs': { source: '000 §1.1', says: 'globs are include patterns; entries are relative to the listed path' },
  'list.dirs-only': { source: '000 §1.1', says: 'dirsOnly lists folders only' },
  'list.errors': { source: '000 §1.1', says: 'list_files: E_DENY_PATH, E_NOT_FOUND, E_IO' },
  'read.text': { source: '000 §1.2', says: 'read_file returns path, content, encoding utf-8 and bytes' },
  'read.max-bytes': { source: '000 §1.2', says: 'maxBytes bounds what is read' },
  'read.errors': { source: '000 §1.2', says: 'read_file: E_DENY_PATH, E_NOT_FOUND, E_ENCODING, E_TOO_LARGE, E_IO' },
  'write.modes': { source: '000 §1.3', says: 'mode overwrite replaces the content, append adds to it' },
  'write.dry-run-diff': { source: '000 §1.3', says: 'dryRun: true returns diff and applied=false' },
  'write.applied-snapshot': { source: '000 §1.3', says: 'dryRun: false returns applied=true and snapshotId' },
  'write.dry-run-required': { source: '000 §1.3', says: 'path, content and dryRun are required' },
  'write.errors': { source: '000 §1.3', says: 'write_to_file: E_DENY_PATH, E_CONFLICT, E_ENCODING, E_IO, E_POLICY_VIOLATION' },
  'replace.string-or-regex': {
    source: '000 §1.4',
    says: 'replace_in_file replaces a string or a regex in one file and returns count',
  },
  'replace.bad-regex': { source: '000 §1.4', says: 'an invalid regex is E_BAD_ARGS' },
  'replace.errors': { source: '000 §1.4', says: 'replace_in_file: the errors of write_to_file and E_BAD_ARGS' },
  'search.regex': { source: '000 §1.5', says: 'search_files searches a folder by regex and answers path, line, preview' },
  'search.file-pattern': { source: '000 §1.5', says: 'filePattern filters by glob' },
  'search.max-matches': { source: '000 §1.5', says: 'maxMatches bounds the answer, default 2000' },
  'schemas.equal': { source: '000 §1–§3', says: 'input and output schemas are the contract’s' },
  // §2 WebGAL tools, snapshots, runtime
  'webgal.resources': {
    source: '000 §2.1',
    says: 'list_project_resources lists backgrounds, figures, bgm, vocals, scenes',
  },
  'webgal.validate': { source: '000 §2.2', says: 'validate_script checks syntax and resources' },
  'webgal.preview': { source: '000 §2.3', says: 'preview_scene opens a local preview' },
  'snapshots.order': { source: '000 §2.4', says: 'snapshots come newest first, ties by id descending' },
  'snapshots.filter': { source: '000 §2.4', says: 'path filters by prefix, letter case matters' },
  'snapshots.limit': { source: '000 §2.4', says: 'limit applies after the filter; negative or NaN becomes 50' },
  'snapshots.robust': { source: '000 §2.4', says: 'broken .meta.json and snapshots without .txt are passed over' },
  'snapshots.empty': { source: '000 §2.4', says: 'no snapshots is an empty list' },
  'snapshots.bad-args': { source: '000 §2.4', says: 'wrong types are E_BAD_ARGS' },
  'restore.format': { source: '000 §2.5', says: 'snapshotId must have the form of an id, else E_BAD_ARGS' },
  'restore.whole': { source: '000 §2.5', says: 'both files are checked: missing is E_NOT_FOUND, broken metadata E_PARSE_FAIL' },
  'restore.flow': {
    source: '000 §2.5',
    says: 'list, restore, dry run, write brings an old state back and gives a new snapshotId',
  },
  'runtime.info': { source: '000 §2.6', says: 'get_runtime_info returns root, retention, sandbox, tools, server' },
  'runtime.no-secrets': { source: '000 §2.6', says: 'no keys or secrets in it' },
  'runtime.conditional': { source: '000 §2.6', says: 'execution and browser only where enabled' },
  'runtime.tools': { source: '000 §2.6', says: 'tools lists every registered tool' },
  'runtime.version': { source: '000 §2.6', says: 'server.version is a semantic version' },
  'webgal.character': {
    source: '000 §2.7',
    says: 'generate_character_profile writes a character by the project’s convention',
  },
  // §3 talking to the person
  'ask.ack': { source: '000 §3.1', says: 'ask_followup_question answers {ack:true}' },
  'completion.ack': { source: '000 §3.2', says: 'attempt_completion answers {ack:true}' },
  // §4 developer mode
  'command.run': { source: '000 §4.1', says: 'execute_command runs an allowed script of package.json and answers ok and logs' },
  'command.errors': { source: '000 §4.1', says: 'execute_command: E_POLICY_VIOLATION, E_TIMEOUT' },
  'browser.act': { source: '000 §4.2', says: 'browser_action opens, clicks and takes pictures on local hosts' },
  // §6 policies and modes
  'policy.file': { source: '000 §6', says: 'a local policy file with contractVersion, mode and policies is read' },
  'policy.sandbox-root': { source: '000 §6', says: 'sandboxRoot is in force' },
  'policy.forbidden-dirs': { source: '000 §6', says: 'forbiddenDirs is in force' },
  'policy.write-requires-diff': { source: '000 §6', says: 'writeRequiresDiff is in force' },
  'policy.max-auto-fix': { source: '000 §6', says: 'maxAutoFix is in force' },
  'policy.batch-max-lines': { source: '000 §6', says: 'batchMaxLines is in force' },
  'policy.allowed-commands': { source: '000 §6', says: 'allowedCommands is in force' },
  'policy.browser-hosts': { source: '000 §6', says: 'browserAllowedHosts is in force' },
  // §7 compatibility
  'compat.additive': { source: '000 §7', says: 'new fields are optional; anything else needs a new contractVersion' },
  'compat.mcp': { source: '000 §7', says: 'tools can be reached over MCP with the same calls' },
  'compat.languages': {
    source: '000 §7',
    says: 'diagnostics are Chinese by default, English by environment variable',
  },
  'compat.binaries': { source: '000 §7', says: 'binary resources are only checked for existence' },
  // §8 test vectors
  'vector.dry-run': { source: '000 §8', says: 'write_to_file dryRun=true returns diff' },
  'vector.write': { source: '000 §8', says: 'write_to_file dryRun=false returns snapshotId' },
  'vector.conflict': { source: '000 §8', says: 'a concurrent change is E_CONFLICT' },
  'vector.validate': {
    source: '000 §8',
    says: 'validate_script: missing semicolon, unknown command, missing resource',
  },
  'vector.preview': { source: '000 §8', says: 'preview_scene: no preview, non-local address' },
  // §9 safety and privacy
  'privacy.local': { source: '000 §9', says: 'nothing outside the project root is looked at, nothing is uploaded' },
  'privacy.keys': { source: '000 §9', says: 'API keys stay local and can be cleared', later: agent },
  'privacy.logs': { source: '000 §9', says: 'logs are local and stay local' },
  // The other four contracts, by section; their sentences are listed one by one with the issue that builds them.
  'gateway.process': {
    source: '001 §2',
    says: 'POST /agent/process with biz_params.tool calls read_file, create_file, update_file, shell',
    later: 'the gateway',
  },
  'gateway.paths': {
    source: '001 §3',
    says: 'absolute paths within allowed roots, system folders refused',
    later: 'the gateway',
  },
  'gateway.errors': { source: '001 §4–§5', says: 'six error codes', later: 'the gateway' },
  'runs.tools': { source: '002 §2', says: 'seven task-run tools, and events of a run beside them' },
  'runs.status': { source: '002 §3.1', says: 'six states of a run, and legal transitions only' },
  'runs.object': {
    source: '002 §3.2',
    says: 'the Run: times in milliseconds; result and error null before the end, an explainable error on every failed end',
  },
  'runs.chunk': { source: '002 §3.3', says: 'the chunk of an artifact: seven fields, no encoding, nextOffset or truncated' },
  'runs.modes': {
    source: '002 §4.1',
    says: 'sync answers the terminal run, async its id and state, auto says which of the two it chose',
  },
  'runs.timeout': { source: '002 §4.1', says: 'timeoutMs is 1 to 600000' },
  'runs.keys': {
    source: '002 §4.1.1',
    says: 'one run for each (templateId, idempotencyKey) while its record lives, deduplicated: true',
  },
  'runs.get': { source: '002 §4.2', says: 'get_task_run answers the Run' },
  'runs.list': {
    source: '002 §4.3',
    says: 'list_task_runs: newest first, total after filtering, limit 1 to 1000, offset from 0',
  },
  'runs.cancel': {
    source: '002 §4.4',
    says: 'cancel_task_run: RUN_CANCELED; success: false with a reason at the end; RUN_NOT_FOUND',
  },
  'runs.profile': { source: '002 §4.5', says: 'get_runtime_profile: every field, the numbers of the contract by default' },
  'runs.queue': { source: '002 §8', says: 'beyond the limit a run is queued, and is carried out when its turn comes' },
  'runs.errors': { source: '002 §5, §8', says: 'the codes of runs, templates, artifacts and parameters, each raised by a test' },
  'runs.errors.pages': { source: '002 §5, §8', says: 'the codes of pages, each raised by a test', later: 'browser runs' },
  'bridge.envelope': {
    source: '003 §1',
    says: 'intent-flow.devserver.v1 envelopes over a local WebSocket',
    later: 'the dev bridge',
  },
  'bridge.methods': {
    source: '003 §2–§4',
    says: 'dev.info, dev.run, dev.runChecks, dev.cancel, dev.stop',
    later: 'the dev bridge',
  },
  'gate.no-bypass': { source: '004 §1.3', says: 'risk R2 and above always meets the gate; no way round' },
  'gate.evidence': { source: '004 §1.3', says: 'every tool with a side effect leaves evidence' },
  'gate.audit': { source: '004 §1.5', says: 'every act is in the audit log as JSON lines' },
  'skills.plans': { source: '004 §2', says: 'skills become plans and run through the gate', later: agent },
  'shell.off': { source: '004 §1.3', says: 'no arbitrary shell by default' },
  'python.places': {
    source: '004 §2.6',
    says: 'python_run runs scripts of skills_workspace/<skill>/scripts/ and sandbox/scripts/ only, by real path',
  },
  'python.cwd': { source: '004 §2.6', says: 'python_run starts in sandbox/, and what it makes lands there' },
  'python.gate': { source: '004 §2.6', says: 'python_run is R2: what it changes needs approval' },
  'python.time': { source: '004 §2.6', says: 'python_run may take 60 s by default, 120 s at most' },
  'python.cut': { source: '004 §2.6', says: 'stdout and stderr are cut at 2048 characters' },
  'python.audit': { source: '004 §2.6', says: 'every python_run is audited as tool.python_run with its eight fields' },
  'agents.tool': { source: '004 §6 Q4', says: 'external agents run through a tool of their own, R3, asked first' },
  'agents.workspace': { source: '004 §6 Q4', says: 'external agents work below sandbox/workspaces/ only' },
  'agents.evidence': { source: '004 §6 Q4', says: 'external agents leave an audit event, changed_files and evidence' },
  'prompts.files': { source: '004 §3', says: 'prompts live in prompts/ with front matter', later: agent },
  'router.light': { source: '004 §4', says: 'the router only chooses the way', later: agent },
} as const satisfies Record<string, Requirement>

export type RequirementId = keyof typeof requirements
