import "./page.css"
import { route } from "../../browser/router.js"
import { BusiestKeys } from "./busiest-keys.js"
import { KeyPage } from "./key-page.js"

/** The busiest keys, or the key in the address: `#/clients/login/ip:203.0.113.7`. */
export function Page() {
  const [rule, key] = route.value.path
  if (rule === undefined || key === undefined) return <BusiestKeys />
  return <KeyPage key={`${rule}/${key}`} rule={rule} name={key} />
}
