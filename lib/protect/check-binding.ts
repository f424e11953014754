import { Annotations, Stack } from 'aws-cdk-lib'
import type { Construct, IConstruct } from 'constructs'
import { printed } from '../../limiter/errors'
import { Binding } from './binding'
import { isPreflight, isRoute, routeName } from './route-name'
import type { Skipped } from './selection'
import { synthesised } from './synthesised'

/** A binding that is checked at the end of the synth: nothing may have changed its routes. */
export function bindAndCheck(...binds: ConstructorParameters<typeof Binding>): Binding {
  const binding = new Binding(...binds)
  binding.scope.node.addValidation({
    validate: () => {
      const { api, noun, contents } = binding.props
      reportSkipped({
        scope: binding.scope,
        api,
        noun,
        limited: binding.bound.size,
        skipped: binding.skipped,
        answers429: noun === 'method' && contents.some(Boolean),
      })
      warnOfUnprotected(binding)
      return mistakesOf(binding)
    },
  })
  return binding
}

/** What is wrong with a binding after all aspects of the app: names, routes and authorizers, a sentence each. */
function mistakesOf(binding: Binding): string[] {
  const { api, noun, only, isCandidate, isOfThisApp } = binding.props
  const mistakes = [...binding.selection.mistakes(), ...late(binding), ...changed(binding)]
  if (binding.bound.size + binding.refused.size > 0 || !isOfThisApp) return mistakes
  const what = isCandidate ? 'a $connect route' : `${noun}s`
  if (only.routes && binding.skipped.length === 0)
    mistakes.push(`${only.prop} must name ${noun}s of ${api.node.path}, got none of its stack`)
  else mistakes.push(nothingToProtect(api, noun, what, binding.skipped.length))
  return mistakes
}

/** Why an API with nothing to limit is a mistake: its author believes that it is protected. */
export const nothingToProtect = (api: IConstruct, noun: string, what: string, skipped: number): string =>
  skipped > 0
    ? `protect() has nothing to protect: except and skipAuthorized leave all ${skipped} ${noun}s of ${api.node.path} out`
    : `protect() needs an API with ${what}, got one without`

/** Routes whose authorizer something has changed since. */
function changed({ bound, props: { authorizer, noun } }: Binding): string[] {
  return [...bound].flatMap(([route, name]) => {
    const { AuthorizationType = 'NONE', AuthorizerId } = synthesised(route)
    const wanted = JSON.stringify(Stack.of(route).resolve(authorizer.ref))
    if (AuthorizationType === 'CUSTOM' && JSON.stringify(AuthorizerId) === wanted) return []
    const now = AuthorizationType === 'CUSTOM' ? 'another authorizer' : `authorization ${printed(AuthorizationType)}`
    return [
      `protect() gave the ${noun} ${name} its authorizer, and something gave it ${now} afterwards (${route.node.path}): ` +
        'requests to it would not be limited. Leave it out by except, or do not change it, for example in an aspect',
    ]
  })
}

/** Routes that an aspect added after those of the app were bound. */
function late(binding: Binding): string[] {
  const { api, apiId, noun, only, isCandidate = () => true } = binding.props
  if (only.routes) return []
  return Stack.of(api)
    .node.findAll()
    .filter(isRoute)
    .filter((route) => ('restApiId' in route ? route.restApiId : route.apiId) === apiId && !binding.hasSeen(route))
    .map((route) => ({ name: routeName(route, api), path: route.node.path }))
    .filter(({ name }) => isCandidate(name) && !isPreflight(name))
    .map(
      ({ name, path }) =>
        `protect() did not see the ${noun} ${name} (${path}): something added it after the aspects that protect, such as an aspect of lower priority`,
    )
}

/** Warns of routes that another stack adds to the API, and of an API that nothing deploys. */
function warnOfUnprotected(binding: Binding): void {
  const { scope, elsewhere, props } = binding
  const open = [...elsewhere].filter(([route]) => (synthesised(route).AuthorizationType ?? 'NONE') === 'NONE')
  if (open.length > 0)
    Annotations.of(scope).addWarningV2(
      'sluice:other-stack',
      `protect() does not limit ${props.noun}s that other stacks add to ${props.api.node.path}: ` +
        `${open.map(([route, name]) => `${name} (${route.node.path})`).join(', ')}. Add them in the API’s stack, or name them in except`,
    )
}

/** What is left without limits on purpose. */
interface LeftAsItIs {
  readonly scope: Construct
  readonly api: IConstruct
  readonly noun: 'method' | 'route'
  /** How many are limited. */
  readonly limited: number
  readonly skipped: readonly Skipped[]
  /** Whether all denials of the API become a 429. */
  readonly answers429: boolean
}

/** Prints the routes that are left unchanged. */
export function reportSkipped({ scope, api, noun, limited, skipped, answers429 }: LeftAsItIs): void {
  if (skipped.length === 0) return
  const isChanged = answers429 && skipped.some(({ because }) => because !== 'except')
  const note = isChanged
    ? '; what their own authorizers deny is a 429 now, the one answer of a REST API for denials'
    : ''
  const list = skipped.map(({ route, because }) => `${route} (${because})`).join(', ')
  Annotations.of(scope).addInfo(
    `protect() leaves ${skipped.length} of ${limited + skipped.length} ${noun}s of ${api.node.path} as they are, without limits: ${list}${note}`,
  )
}
