import '../shared/theme.css'
import { render } from 'preact'

render(<h1>Sluice: the console</h1>, document.getElementById('app')!)
