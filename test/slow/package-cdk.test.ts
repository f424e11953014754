import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { packInto } from './packed'

const ROOT = join(__dirname, '..', '..')
const { devDependencies, peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const oldest = (name: string) => peerDependencies[name].replace('^', '')

/** A user's app: both kinds of API, tiers, and everything that differs between versions of the CDK. */
const PROGRAM = `
const { App, Stack } = require('aws-cdk-lib')
const { RestApi, MockIntegration, Deployment } = require('aws-cdk-lib/aws-apigateway')
const { HttpApi, HttpMethod } = require('aws-cdk-lib/aws-apigatewayv2')
const { HttpUrlIntegration } = require('aws-cdk-lib/aws-apigatewayv2-integrations')
const { Runtime } = require('aws-cdk-lib/aws-lambda')
const { RateLimiter } = require('sluice')

const app = new App({ outdir: process.argv[2] })
const stack = new Stack(app, 'Shop')
const rest = new RestApi(stack, 'Rest', { cloudWatchRole: false, deploy: false })
rest.root.addMethod('GET', new MockIntegration())
rest.root.addResource('health').addMethod('GET', new MockIntegration())
new Deployment(stack, 'Mine', { api: rest })
const http = new HttpApi(stack, 'Http')
http.addRoutes({ path: '/a', methods: [HttpMethod.GET], integration: new HttpUrlIntegration('I', 'https://example.com') })
const limiter = new RateLimiter(stack, 'Limiter', { tiersFile: 'node_modules/sluice/tiers.yaml' })
limiter.protect(rest, { except: ['GET /health'], as: 'shop' })
limiter.protect(http)
limiter.addConcurrencyAlarms()
new RateLimiter(stack, 'Older', { runtime: Runtime.NODEJS_22_X, invokeRole: true })
app.synth()
`

describe('the constructs, installed from the tarball', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-package-cdk-'))
  let tarball = ''

  beforeAll(async () => {
    tarball = (await packInto(folder)).tarball
  }, 180_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it.each([
    ['the oldest', oldest('aws-cdk-lib'), oldest('constructs')],
    ['the newest', devDependencies['aws-cdk-lib'], devDependencies.constructs],
  ])(
    'synthesise with %s aws-cdk-lib that they allow, %s, and without the SDK for DynamoDB',
    async (_, cdk, constructs) => {
      const project = mkdtempSync(join(folder, 'project-'))
      writeFileSync(join(project, 'package.json'), '{ "private": true }')
      const packages = [tarball, `aws-cdk-lib@${cdk}`, `constructs@${constructs}`]
      // As package managers that do not add peers by themselves.
      const options = ['--no-audit', '--no-fund', '--prefer-offline', '--legacy-peer-deps']
      await run(project, 'npm', ['install', ...options, ...packages])
      expect(existsSync(join(project, 'node_modules/@aws-sdk/client-dynamodb'))).toBe(false)

      // What `init` makes in a folder without a program.
      const init = ['init', '--for', 'cdk', '--callers', 'api-key', '--limit', '60']
      await run(project, 'node', ['node_modules/sluice/bin/sluice.js', ...init])
      await run(project, 'sh', ['-c', JSON.parse(readFileSync(join(project, 'cdk.json'), 'utf8')).app], {
        CDK_OUTDIR: 'made',
      })
      expect(
        ofType(join(project, 'made/LimitedApi.template.json'), 'AWS::ApiGateway::Method').map(
          ({ AuthorizationType }) => AuthorizationType,
        ),
      ).toEqual(['CUSTOM'])

      writeFileSync(join(project, 'app.cjs'), PROGRAM)
      await run(project, 'node', ['app.cjs', 'out'])
      const template = join(project, 'out/Shop.template.json')
      const of = (type: string) => ofType(template, type)
      const runtimes = of('AWS::Lambda::Function').map(({ Runtime }) => Runtime)
      expect(runtimes.sort()).toEqual(['nodejs22.x', 'nodejs22.x', 'nodejs24.x', 'nodejs24.x'])
      expect(of('AWS::ApiGateway::Method').map(({ AuthorizationType }) => AuthorizationType)).toEqual([
        'CUSTOM',
        'NONE',
      ])
      expect(of('AWS::ApiGatewayV2::Route').map(({ AuthorizationType }) => AuthorizationType)).toEqual(['CUSTOM'])
      const { Resources } = JSON.parse(readFileSync(template, 'utf8'))
      expect(Object.keys(Resources).filter((id) => id.startsWith('Mine'))).toHaveLength(1)
    },
    300_000,
  )

  it('are refused by npm beside an older one', async () => {
    const project = mkdtempSync(join(folder, 'project-'))
    writeFileSync(join(project, 'package.json'), '{ "private": true }')
    const options = ['--no-audit', '--no-fund', '--prefer-offline', '--dry-run']
    await expect(run(project, 'npm', ['install', ...options, tarball, 'aws-cdk-lib@2.199.0'])).rejects.toThrow(
      'ERESOLVE',
    )
  }, 300_000)
})

/** The properties of a template's resources of a type. */
function ofType(template: string, type: string): Record<string, unknown>[] {
  const { Resources } = JSON.parse(readFileSync(template, 'utf8'))
  return Object.values(Resources as Record<string, { Type: string; Properties: Record<string, unknown> }>)
    .filter(({ Type }) => Type === type)
    .map(({ Properties }) => Properties)
}

/** What a command prints; throws that together with its errors when it fails. */
async function run(cwd: string, command: string, args: readonly string[], env = {}): Promise<string> {
  try {
    return (await promisify(execFile)(command, args, { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 2 ** 20 }))
      .stdout
  } catch (error) {
    const { message, stdout } = error as Error & { stdout?: string }
    throw new Error([message, stdout].join('\n'))
  }
}
