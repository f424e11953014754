export type Input = Readonly<Record<string, unknown>>

/** An error as the SDK throws it. */
export function failure(name: string, httpStatusCode: number, message: string): Error {
  return Object.assign(new Error(message), { name, $metadata: { httpStatusCode } })
}

export const notFound = (what: string) => failure('NotFoundException', 404, `Invalid ${what} identifier specified`)

/** One page of a list, two entries long whatever was asked for. */
export function page<T>(all: readonly T[], from: unknown): { items: T[]; next: string | undefined } {
  const start = from === undefined ? 0 : Number(from)
  return { items: all.slice(start, start + 2), next: start + 2 < all.length ? String(start + 2) : undefined }
}

export interface Served {
  readonly type: string
  readonly authorizerId?: string
  /** Of the authorizer, as deployed. */
  readonly uri?: string
}
