import express from 'express'
import { ipKeyGenerator, rateLimit } from 'express-rate-limit'

const limiter = rateLimit({
  windowMs: 60_000,
  limit: 100,
  keyGenerator: (req) => req.get('x-api-key') ?? ipKeyGenerator(req.ip!),
})

const app = express()
app.use(limiter)
app.get('/', (_req, res) => void res.send('hello'))
const server = app.listen(0, '127.0.0.1', () => console.log(server.address()))
