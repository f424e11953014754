import { AccountsStack } from './accounts.mjs'
import { ChatStack } from './chat.mjs'
import { NewsStack } from './news.mjs'
import { TicketsStack } from './tickets.mjs'

/** The stacks of a system that knows nothing of Sluice. */
export function system(app) {
  const accounts = new AccountsStack(app, 'Accounts')
  return {
    tickets: new TicketsStack(app, 'Tickets', accounts),
    news: new NewsStack(app, 'News', accounts),
    chat: new ChatStack(app, 'Chat'),
  }
}
