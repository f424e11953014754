/** What the local gateway uses of dynalite, which brings no types. @see https://github.com/architect/dynalite#api */
declare module 'dynalite' {
  import type { Server } from 'node:http'

  function dynalite(options?: { createTableMs?: number; deleteTableMs?: number; updateTableMs?: number }): Server
  export = dynalite
}
