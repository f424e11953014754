import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ServiceError } from '../cli/exit'
import { type Outputs, ROOT } from './scene'

/** What a run deploys, and where it leaves what it synthesises. */
export interface Deployment {
  readonly name: string
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
  readonly isEmulator: boolean
  /** Ends a deployment in the middle. */
  readonly stop: AbortSignal
  readonly print: (text: string) => void
}

const contextOf = ({ name, isEmulator }: Deployment) => [`name=${name}`, ...(isEmulator ? ['emulator=true'] : [])]

/** Deploys all stacks, and returns their outputs. */
export async function deployAll(deployment: Deployment): Promise<Outputs> {
  const file = join(deployment.folder, 'outputs.json')
  await cdkDeploy(deployment, ['--all', '--concurrency', '3', '--outputs-file', file], contextOf(deployment))
  const { name } = deployment
  const outputs = JSON.parse(readFileSync(file, 'utf8'))
  return { sample: outputs[`${name}-sample`], limiter: outputs[`${name}-limiter`], other: outputs[`${name}-other`] }
}

/** Deploys the stack of other APIs again, with `unprotect()` in the place of a `protect()`. */
export const deployUnprotected = (deployment: Deployment): Promise<void> =>
  cdkDeploy(deployment, ['OtherApis', '--exclusively'], [...contextOf(deployment), 'protected=false'])

async function cdkDeploy(
  { folder, env, stop, print }: Deployment,
  args: readonly string[],
  context: readonly string[],
): Promise<void> {
  stop.throwIfAborted()
  const child = spawn(
    process.execPath,
    [
      join(ROOT, 'node_modules', 'aws-cdk', 'bin', 'cdk'),
      'deploy',
      ...args,
      ...context.flatMap((one) => ['-c', one]),
      ...['--app', 'node -r tsx/cjs acceptance/app.ts', '--output', join(folder, 'cdk.out')],
      ...['--require-approval', 'never', '--no-notices', '--no-color', '--ci', '--progress', 'events'],
    ],
    // A group of its own, which Ctrl-C in a terminal does not reach: it is ended here, and what it made is destroyed.
    { cwd: ROOT, env: { ...env, CDK_VALIDATION: 'false' }, stdio: ['ignore', 'pipe', 'pipe'], detached: true },
  )
  const end = () => void process.kill(-child.pid!, 'SIGTERM')
  stop.addEventListener('abort', end)
  const said: string[] = []
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said.push(text)
      for (const line of text.split('\n'))
        if (/ \| (CREATE|UPDATE|ROLLBACK)_\w+ +\| AWS::CloudF/.test(line)) print(line)
    })
  const [code] = await once(child, 'close')
  stop.removeEventListener('abort', end)
  stop.throwIfAborted()
  if (code !== 0) throw new ServiceError(`the deployment failed:\n${said.join('').split('\n').slice(-40).join('\n')}`)
}
