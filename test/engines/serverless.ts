import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Where `.ci/serverless` puts the framework. */
const OSLS = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'sluice/osls-4.3.1/node_modules/.bin/osls')

/** A template of CloudFormation. */
interface Template {
  // biome-ignore lint/suspicious/noExplicitAny: each type of resource has its own
  readonly Resources: Record<string, { readonly Type: string; Properties: any; readonly DependsOn?: unknown }>
  readonly Outputs: Readonly<Record<string, unknown>>
}

/** The template that the Serverless Framework makes of a service, for one Region and the account of MiniStack. */
export async function packageService(service: string, params: Readonly<Record<string, string>>): Promise<Template> {
  if (!existsSync(OSLS)) throw new Error(`no Serverless Framework in ${OSLS}: run .ci/serverless`)
  const folder = mkdtempSync(join(tmpdir(), 'sluice-serverless-'))
  try {
    cpSync(service, folder, { recursive: true }) // it writes into the service's folder
    const env = {
      ...process.env,
      SLS_TELEMETRY_DISABLED: '1',
      SLS_NOTIFICATIONS_MODE: 'off',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
    }
    const args = Object.entries(params).map(([name, value]) => `--param=${name}=${value}`)
    await promisify(execFile)(process.execPath, [OSLS, 'package', ...args], { cwd: folder, env })
    return JSON.parse(readFileSync(join(folder, '.serverless', 'cloudformation-template-update-stack.json'), 'utf8'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
