import '../shared/theme.css'
import './lab.css'
import { render } from 'preact'
import { Lab } from './lab'

render(<Lab />, document.getElementById('app')!)
