import { AspectPriority, Aspects, CfnResource, Stage } from 'aws-cdk-lib'
import type { IConstruct } from 'constructs'

type Visit = (resource: CfnResource) => void

/** The listeners to the resources of each API, by app. */
const watched = new WeakMap<IConstruct, Map<string, Visit[]>>()

/**
 * Shows each resource of an API that the app makes, in whatever stack and however late: methods, routes, integrations,
 * deployments, stages. One aspect for all APIs of an app, so that a synth does not take the square of their number.
 *
 * @param apiId as it stands in the resources: a token is the same in all stacks of an app.
 */
export function watchApi(api: IConstruct, apiId: string, visit: Visit): void {
  const app = Stage.of(api) ?? api.node.root
  const visits = watched.get(app) ?? watch(app)
  visits.set(apiId, [...(visits.get(apiId) ?? []), visit])
}

function watch(app: IConstruct): Map<string, Visit[]> {
  const visits = new Map<string, Visit[]>()
  watched.set(app, visits)
  Aspects.of(app).add(
    {
      visit: (node) => {
        if (!CfnResource.isCfnResource(node)) return
        const { restApiId, apiId } = node as CfnResource & { readonly restApiId?: string; readonly apiId?: string }
        for (const visit of visits.get(restApiId ?? apiId ?? '') ?? []) visit(node)
      },
    },
    { priority: AspectPriority.MUTATING },
  )
  return visits
}
