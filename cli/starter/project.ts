import { expressLines, quoted, type Starter, starterTiers } from './starter'

/** Files of a project by their names. */
export type Project = Readonly<Record<string, string>>

/** What is there already when the package was installed before `init`; nothing of it is replaced. */
export interface Manifest {
  readonly name?: string
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/** What may lie in a folder in which a project is made: what npm, git and its hosts leave there, and tarballs. */
const NOT_A_PROGRAM = /^(package\.json|package-lock\.json|node_modules|README\.md|LICENSE|\..*|.*\.tgz)$/
/** Files that are written only where there are none. */
export const isKept = (name: string): boolean => name === 'README.md' || name === '.gitignore'

export const isWithoutProgram = (names: readonly string[]): boolean => names.every((name) => NOT_A_PROGRAM.test(name))

interface Kind {
  readonly manifest: Manifest
  files(starter: Starter, tiersFile: string): Project
  readonly about: string
  /** What to run, in this order. */
  commands(starter: Starter, tiersFile: string): readonly (readonly [command: string, comment: string])[]
}

const KINDS: Partial<Record<Starter['target'], Kind>> = {
  cdk: {
    manifest: {
      scripts: { start: 'sluice dev' },
      dependencies: { 'aws-cdk-lib': '2', constructs: '10' },
      devDependencies: { 'aws-cdk': '2', dynalite: '4' },
    },
    files: (starter, tiersFile) => ({
      [tiersFile]: starterTiers(starter),
      'app.mjs': cdkApp(tiersFile),
      'cdk.json': '{ "app": "node app.mjs" }\n',
      '.gitignore': 'node_modules\ncdk.out\n',
    }),
    about: 'A REST API that Sluice limits: `app.mjs` deploys it, the tiers file says who may send how much.',
    commands: ({ limit }, tiersFile) => [
      ['npm install', ''],
      ['npm start', 'without AWS: the limits on http://localhost:3000, before a sample backend'],
      ['npx cdk deploy', 'prints the URL; the first time in an account, before: npx cdk bootstrap'],
      tried('URL', limit),
      [`npx sluice tiers apply ${tiersFile}`, 'a change is in force within half a minute'],
    ],
  },
  express: {
    manifest: {
      scripts: { start: 'node server.mjs' },
      dependencies: { express: '5' },
    },
    files: (starter) => ({ 'server.mjs': expressServer(starter), '.gitignore': 'node_modules\n' }),
    about: 'A server with Express that Sluice limits, in `server.mjs`.',
    commands: ({ callers, limit }) => [
      ['npm install', ''],
      ['npm start', 'http://localhost:3000/hello'],
      tried('localhost:3000', limit),
      ...(callers === 'api-key'
        ? [["curl -i -H 'X-Api-Key: demo-free-key' localhost:3000/hello", 'a client of the tier free'] as const]
        : []),
    ],
  },
}

/**
 * A program that runs and limits, with a README, for a folder without one.
 *
 * @param version of Sluice, for the manifest.
 * @returns `undefined` where a program is needed that exists already.
 */
export function starterProject(
  starter: Starter,
  { name, tiersFile, version, manifest }: { name: string; tiersFile: string; version: string; manifest: Manifest },
): Project | undefined {
  const kind = KINDS[starter.target]
  if (!kind) return undefined
  const { scripts, dependencies, devDependencies } = kind.manifest
  const merged = {
    name,
    private: true,
    type: 'module',
    ...manifest,
    scripts: { ...scripts, ...manifest.scripts },
    dependencies: { ...dependencies, sluice: version, ...manifest.dependencies },
    devDependencies: { ...devDependencies, ...manifest.devDependencies },
  }
  return {
    'package.json': `${JSON.stringify(merged, undefined, 2)}\n`,
    ...kind.files(starter, tiersFile),
    'README.md': readme(name, kind.about, projectCommands(starter, tiersFile)),
  }
}

const readme = (name: string, about: string, commands: string): string =>
  `# ${name}\n\n${about}\n\n\`\`\`sh\n${commands}\n\`\`\`\n`

/** What to run, for the README and for a terminal: a line for each command. Empty where no project is made. */
export function projectCommands(starter: Starter, tiersFile: string): string {
  const commands = KINDS[starter.target]?.commands(starter, tiersFile) ?? []
  const width = Math.max(...commands.map(([command]) => command.length))
  return commands.map(([command, comment]) => (comment ? `${command.padEnd(width)} # ${comment}` : command)).join('\n')
}

/** As many requests as it takes to be denied, unless that is too many to send by hand. */
const tried = (url: string, limit: number): readonly [string, string] =>
  limit > 200
    ? [`curl -i '${url}/hello'`, 'X-RateLimit-Remaining says what is left']
    : [`curl -i '${url}/hello?[1-${limit + 1}]'`, '429 at the end']

const cdkApp = (tiersFile: string): string => `import { App, Stack } from 'aws-cdk-lib'
import { LambdaIntegration, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { RateLimiter } from 'sluice'

const stack = new Stack(new App(), 'LimitedApi')
const backend = new LambdaFunction(stack, 'Backend', {
  runtime: Runtime.NODEJS_22_X,
  handler: 'index.handler',
  code: Code.fromInline("exports.handler = async () => ({ statusCode: 200, body: 'hello' })"),
})
const api = new RestApi(stack, 'Api')
api.root.addResource('hello').addMethod('GET', new LambdaIntegration(backend))

const limiter = new RateLimiter(stack, 'Limiter', { tiersFile: ${quoted(tiersFile)} })
limiter.protect(api)
`

const expressServer = (
  starter: Starter,
): string => `${expressLines(starter)}app.get('/hello', (_, res) => void res.send('hello'))

const server = app.listen(process.env.PORT ?? 3000, () => console.log(\`http://localhost:\${server.address().port}/hello\`))
`
