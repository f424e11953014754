/** As much of it as is used here; `@types/express` is a dozen packages. */
declare module 'express' {
  interface Router {
    (request: unknown, response: unknown, next: (error?: unknown) => void): void
    get(path: string, handler: (request: unknown, response: unknown) => void): void
  }
  export function Router(options: object): Router
}
