import { UserError } from '../exit'
import type { ApiStage, Apis } from '../facade/policies'
import { printed } from '../facade/values'
import { isLikeApiId } from '../tables/api-labels'
import { hint } from './hints'

export const NOWHERE: ApiStage = { apiId: undefined, stageName: undefined }

/**
 * The API of `shop` or `shop/prod`, by its id, label or name. An id needs no label: most APIs have none.
 *
 * @throws UserError when none or several are called so.
 */
export function placeNamed(text: string, what: string, apis: Apis | undefined): ApiStage {
  const [, word, stageName] = /^([^/]+)(?:\/([\w$-]+))?$/.exec(text) ?? []
  if (word === undefined)
    throw new UserError(`${what} must name an API or its stage, such as shop or shop/prod, got ${printed(text)}`)
  const known = apis?.list ?? []
  const words = known.flatMap(({ label, name, id }) => [label, name, id]).filter((one) => one !== undefined)
  if (!words.includes(word) && !isLikeApiId(word))
    throw new UserError(
      `${what} names API ${printed(word)}, and no API has this id, label or name${hint(word, words, 'sluice apis list')}`,
    )
  const ids = [...(apis?.idsOf(word) ?? [word])]
  if (ids.length > 1)
    throw new UserError(`${what} must name one API, and ${printed(word)} matches several: ${ids.join(', ')}`)
  return { apiId: ids[0], stageName }
}
