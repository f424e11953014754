// The same system, limited: npm install sluice aws-cdk-lib constructs aws-cdk@2, and
// npx cdk deploy --all --app 'node app.mjs'
import { App, Stack } from 'aws-cdk-lib'
import { RateLimiter } from 'sluice'
import { system } from './system/index.mjs'

const app = new App()
const { tickets, news, chat } = system(app)

const limiter = new RateLimiter(new Stack(app, 'Limiter'), 'Limiter', { tiersFile: 'tiers.yaml' })
limiter.protect(tickets.api, { skipAuthorized: true, except: ['GET /health'] })
limiter.protect(news.api, { skipAuthorized: true })
limiter.protect(chat.api)
