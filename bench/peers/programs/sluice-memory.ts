import express, { type Request } from 'express'
import { createLimiter, MemoryStore } from 'sluice/limiter'
import { expressRateLimit } from 'sluice/middleware'

const limiter = createLimiter({
  store: new MemoryStore(),
  policies: [{ name: 'per-minute', limit: 100, window: '1m' }],
})

const app = express()
app.use(expressRateLimit({ limiter, keyBy: (req: Request) => req.get('x-api-key') }))
app.get('/', (_req, res) => void res.send('hello'))
const server = app.listen(0, '127.0.0.1', () => console.log(server.address()))
