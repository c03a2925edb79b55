import { render } from "preact"
import "./style/tokens.css"
import "./style/base.css"
import "./style/controls.css"
import "./style/parts.css"
import "./style/shell.css"
import { App } from "./app.js"
import { followLanguage } from "./browser/i18n.js"
import { followTheme } from "./browser/theme.js"
import { followLinks, openSession } from "./service/session.js"

followTheme()
followLanguage()
followLinks()
void openSession()
render(<App />, document.getElementById("app") as HTMLElement)
