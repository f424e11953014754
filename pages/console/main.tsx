import '../shared/theme.css'
import './console.css'
import { render } from 'preact'
import { App } from './app'

render(<App />, document.getElementById('app')!)
