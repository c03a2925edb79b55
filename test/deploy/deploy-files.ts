import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parse } from "yaml"

export const repository = fileURLToPath(new URL("../../", import.meta.url))

/** The path of a file in deploy/. */
export function deployPath(name: string): string {
  return fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url))
}

export function deployText(name: string): string {
  return readFileSync(deployPath(name), "utf8")
}

export function deployYaml<T>(name: string): T {
  return parse(deployText(name), { merge: true })
}

export function filesIn(folder: string): string[] {
  return readdirSync(deployPath(folder))
    .sort()
    .map((name) => `${folder}/${name}`)
}
