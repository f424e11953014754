import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { MiniStack } from './ministack'

const ROOT = join(__dirname, '..', '..')
/** By which Node runs the constructs of this repository; examples.test.ts runs those of the tarball. */
const LOADER = pathToFileURL(join(ROOT, 'node_modules/tsx/dist/loader.mjs')).href

type Outputs = Record<'Accounts' | 'Tickets' | 'News' | 'Chat', Readonly<Record<string, string>>>
type Properties = Readonly<Record<string, unknown>>
interface Template {
  readonly Resources: Readonly<Record<string, { readonly Type: string; readonly Properties?: Properties }>>
}

/** A copy of `examples/existing-system` in a folder of its own, as it is deployed and edited. */
export class ExistingSystem {
  /** The stacks' outputs at their last deployment. */
  outputs: Outputs = { Accounts: {}, Tickets: {}, News: {}, Chat: {} }
  private readonly home = mkdtempSync(join(tmpdir(), 'sluice-existing-'))
  private readonly folder = join(this.home, 'system')

  constructor(private readonly aws: MiniStack) {
    cpSync(join(ROOT, 'examples', 'existing-system'), this.folder, { recursive: true })
    install(join(this.home, 'node_modules'))
  }

  /** Deploys what a program of the example makes, or some stacks of it; the templates are in a folder of its name. */
  async deploy(name: 'before' | 'app', ...stacks: string[]): Promise<void> {
    const program = `${process.execPath} --import ${LOADER} ${name}.mjs`
    const what = stacks.length > 0 ? ['--exclusively', ...stacks] : ['--all', '--concurrency', '4']
    const flags = ['--require-approval', 'never', '--no-version-reporting', '--output', name]
    await this.aws.cdk(this.folder, 'deploy', ...what, '--app', program, ...flags, '--outputs-file', 'outputs.json')
    this.outputs = { ...this.outputs, ...JSON.parse(readFileSync(join(this.folder, 'outputs.json'), 'utf8')) }
  }

  /** Destroys what was deployed last by a program, or some stacks of it. */
  async destroy(name: 'before' | 'app', ...stacks: string[]): Promise<void> {
    await this.aws.cdk(this.folder, 'destroy', '--force', ...stacks, '--app', name)
  }

  /** Replaces a text of a file. */
  edit(file: string, text: string, instead: string): void {
    const before = readFileSync(join(this.folder, file), 'utf8')
    if (!before.includes(text)) throw new Error(`${file} has no ${text}`)
    writeFileSync(join(this.folder, file), before.replace(text, instead))
  }

  template(name: 'before' | 'app', stack: string): Template {
    return JSON.parse(readFileSync(join(this.folder, name, `${stack}.template.json`), 'utf8'))
  }

  /** What Sluice changes in a stack's template: `changed AWS::ApiGateway::Stage: DeploymentId`. */
  changed(stack: string): string[] {
    const { Resources: before } = this.template('before', stack)
    const { Resources: after } = this.template('app', stack)
    const added = Object.keys(after).flatMap((id) => (before[id] ? [] : [`added ${after[id]!.Type}`]))
    const others = Object.entries(before).flatMap(([id, { Type, Properties = {} }]) => {
      if (!after[id]) return [`removed ${Type}`]
      const now = after[id].Properties ?? {}
      const names = [...new Set([...Object.keys(Properties), ...Object.keys(now)])]
      const differ = names.filter((name) => JSON.stringify(Properties[name]) !== JSON.stringify(now[name]))
      return differ.length > 0 ? [`changed ${Type}: ${differ.sort().join(', ')}`] : []
    })
    return [...added, ...others].sort()
  }

  /** The authorization of each method of the REST API with Sluice, but of preflights, by name: `GET events`. */
  methods(): Record<string, unknown> {
    const { Resources } = this.template('app', 'Tickets')
    const found = Object.values(Resources).filter(({ Type }) => Type === 'AWS::ApiGateway::Method')
    return Object.fromEntries(
      found.flatMap(({ Properties: { HttpMethod, ResourceId, AuthorizationType } = {} }) => {
        if (HttpMethod === 'OPTIONS') return []
        const { PathPart } = Resources[(ResourceId as { Ref: string }).Ref]!.Properties!
        return [[`${HttpMethod} ${PathPart}`, AuthorizationType]]
      }),
    )
  }

  remove(): void {
    rmSync(this.home, { recursive: true, force: true })
  }
}

/** Puts what the example imports into its `node_modules`. */
function install(modules: string): void {
  mkdirSync(join(modules, 'sluice'), { recursive: true })
  for (const name of ['aws-cdk-lib', 'constructs']) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  writeFileSync(join(modules, 'sluice', 'package.json'), '{ "type": "module", "exports": "./index.js" }')
  writeFileSync(
    join(modules, 'sluice', 'index.js'),
    `export { RateLimiter } from ${JSON.stringify(join(ROOT, 'lib', 'rate-limiter.ts'))}\n`,
  )
}
