import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
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

/** Files of the repository, committed or not, without those in folders that .gitignore names. Git itself may not be here. */
export function repositoryFiles(): string[] {
  const ignored = readFileSync(join(repository, ".gitignore"), "utf8").match(/^.+(?=\/$)/gm) ?? []
  const leftOut = new Set([".git", ...ignored])
  const below = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name)
      if (leftOut.has(entry.name)) return []
      return entry.isDirectory() ? below(path) : [relative(repository, path)]
    })
  return below(repository)
}
