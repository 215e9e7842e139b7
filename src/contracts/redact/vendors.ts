/** A form of secret that can be told by its own looks. `gate`: one of these, in lower case, is in every text that holds one. */
export interface Look {
  kind: string
  gate: readonly string[]
  /** Global, and linear on any input: nothing unbounded is followed by something that may be missing. */
  find: RegExp
}

const look = (kind: string, gate: string, find: RegExp): Look => ({ kind, gate: gate.split(' '), find })

/** Keys that name their maker. Lengths are lower bounds, below what is issued today: makers lengthen them without a word. */
export const looks: readonly Look[] = [
  look('AWS key id', 'akia asia abia acca', /(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{12,}/g),
  look('AWS key', 'absk', /(?<![A-Za-z0-9])ABSK[A-Za-z0-9+/=]{16,}/g),
  look('Google key', 'aiza', /AIza[0-9A-Za-z_-]{20,}/g),
  look('Google token', 'ya29.', /(?<![A-Za-z0-9])ya29\.[\w.-]{20,}/g),
  look('Google client secret', 'gocspx-', /GOCSPX-[\w-]{16,}/g),
  look('Azure client secret', 'q~', /(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}/g),
  look('Azure key', '==', /(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{86}==/g),
  look('GitHub token', 'ghp_ gho_ ghu_ ghs_ ghr_', /(?<![A-Za-z0-9])gh[pousr]_[\w.-]{16,}/g),
  look('GitHub token', 'github_pat_', /github_pat_\w{16,}/g),
  look(
    'GitLab token',
    'glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glsoat- glagent- gloas- glimt- glffct-',
    /(?<![A-Za-z0-9])gl(?:pat|dt|rt|rtr|cbt|ptt|ft|soat|agent|oas|imt|ffct)-[\w.-]{12,}/g,
  ),
  look('npm token', 'npm_', /(?<![A-Za-z0-9])npm_[A-Za-z0-9]{16,}/g),
  look('PyPI token', 'pypi-', /(?<![A-Za-z0-9])pypi-[\w-]{16,}/g),
  look('RubyGems key', 'rubygems_', /rubygems_[a-z0-9]{16,}/gi),
  look('Docker token', 'dckr_', /dckr_[po]at_[\w-]{16,}/g),
  look('Artifactory key', 'akcp', /(?<![A-Za-z0-9])AKCp[A-Za-z0-9]{16,}/g),
  look('Slack token', 'xox', /xox[abeoprs](?:\.xox[bp])?-[\w-]{10,}/g),
  look('Slack token', 'xapp-', /xapp-\d-[\w-]{10,}/g),
  look('Slack webhook', 'hooks.slack.com', /(?<=hooks\.slack\.com\/(?:services|workflows|triggers)\/)[\w/-]{16,}/g),
  look('Discord webhook', 'api/webhooks/', /(?<=discord(?:app)?\.com\/api\/webhooks\/\d{10,25}\/)[\w-]{20,}/g),
  look('Teams webhook', 'webhook.office.com', /(?<=webhook\.office\.com\/webhookb2\/)[\w@/-]{20,}/g),
  look('Telegram token', ':', /(?<!\d)\d{8,10}:[\w-]{35}(?![\w-])/g),
  look('Stripe key', '_live_ _test_ _prod_', /(?<![A-Za-z0-9])[rsp]k_(?:live|test|prod)_\w{10,}/g),
  look('webhook secret', 'whsec_', /whsec_[A-Za-z0-9+/=]{16,}/g),
  look('Shopify token', 'shp', /(?<![A-Za-z0-9])shp(?:at|ca|pa|ss)_[A-Za-z0-9]{16,}/g),
  look('Anthropic key', 'sk-ant-', /sk-ant-[\w-]{12,}/g),
  look('API key', 'sk- sk_ rk- rk_ pk_', /(?<![A-Za-z0-9])(?:[sr]k[-_]|pk_)(?:(?=[\w-]{0,60}[0-9A-Z])[\w-]{12,}|[a-z]{20,})/g),
  look('Hugging Face token', 'hf_', /(?<![A-Za-z0-9])hf_[A-Za-z0-9]{16,}/g),
  look('Groq key', 'gsk_', /(?<![A-Za-z0-9])gsk_[A-Za-z0-9]{20,}/g),
  look('xAI key', 'xai-', /(?<![A-Za-z0-9])xai-[A-Za-z0-9]{20,}/g),
  look('Replicate token', 'r8_', /(?<![A-Za-z0-9])r8_[A-Za-z0-9]{20,}/g),
  look('Perplexity key', 'pplx-', /pplx-[A-Za-z0-9]{20,}/g),
  look('NVIDIA key', 'nvapi-', /nvapi-[\w-]{20,}/g),
  look('LangSmith key', 'lsv2_', /lsv2_(?:pt|sk)_\w{16,}/g),
  look('Cloudflare token', 'cfk_ cfut_ cfat_', /(?<![A-Za-z0-9])cf(?:k|ut|at)_\w{40,}/g),
  look('SendGrid key', 'sg.', /(?<![A-Za-z0-9])SG\.[\w-]{10,}\.[\w-]{10,}/g),
  look('DigitalOcean token', '_v1_', /do[por]_v1_[a-f0-9]{16,}/g),
  look('Databricks token', 'dapi', /(?<![A-Za-z0-9])dapi[a-f0-9]{32}/g),
  look('Vault token', 'hvs. hvb. hvr.', /(?<![A-Za-z0-9])hv[sbr]\.[\w-]{20,}/g),
  look('Terraform token', '.atlasv1.', /(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[\w-]{20,}/g),
  look('Doppler token', 'dp.', /(?<![A-Za-z0-9])dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,}/g),
  look('Grafana token', 'glsa_ glc_', /(?<![A-Za-z0-9])gl(?:sa|c)_[A-Za-z0-9+/=_]{20,}/g),
  look('Sentry token', 'sntry', /sntry[su]_[\w+/=.-]{20,}/g),
  look('Tailscale key', 'tskey-', /tskey-[\w-]{16,}/g),
  look('Figma token', 'figd_', /figd_[\w-]{16,}/g),
  look('Linear key', 'lin_', /lin_(?:api|oauth)_[A-Za-z0-9]{16,}/g),
  look('Notion token', 'ntn_', /(?<![A-Za-z0-9])ntn_[A-Za-z0-9]{16,}/g),
  look('Postman key', 'pmak-', /PMAK-[a-f0-9-]{20,}/g),
  look('Pulumi token', 'pul-', /(?<![A-Za-z0-9])pul-[a-f0-9]{20,}/g),
  look('Supabase token', 'sbp_ sb_secret_', /(?<![A-Za-z0-9])(?:sbp|sb_secret)_[\w-]{16,}/g),
  look('Netlify token', 'nfp_', /(?<![A-Za-z0-9])nfp_[A-Za-z0-9]{16,}/g),
  look('Atlassian token', 'atatt3', /ATATT3[\w=-]{20,}/g),
  look('age key', 'age-secret-key-1', /AGE-SECRET-KEY-1[0-9A-Z]{20,}/gi),
  // A token's second part may be cut off: the first alone is kept from the log too.
  look('JSON web token', 'eyj', /(?<![\w-])eyJ[\w-]{8,}(?:(?:\.|%2E)[\w-]*){1,4}/gi),
]

/** Beside an AWS key id stands its secret, which has no looks of its own. */
export const besideAws: Look = look(
  'AWS secret key',
  'akia asia',
  /(?<![A-Za-z0-9+/])(?=[A-Za-z0-9+/]{0,39}[A-Z])(?=[A-Za-z0-9+/]{0,39}[a-z])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=])/g,
)
