// The tables in docs/install.md.

/** @typedef {import("../support/check-list.mjs").CheckResult} CheckResult */

/** @param {readonly (readonly string[])[]} rows the head first */
function table([head, ...rows]) {
  const line = (/** @type {readonly string[]} */ row) => `| ${row.join(" | ")} |`
  return [line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n")
}

/**
 * One row for each check, one column for each runtime.
 * @param {readonly CheckResult[]} results
 * @param {Record<string, string>} versions
 */
export function runtimesTable(results, versions) {
  const names = Object.keys(versions)
  const checks = [...new Set(results.map(({ name }) => name))].filter((name) => name !== "starts")
  const cell = (/** @type {string} */ runtime, /** @type {string} */ check) => {
    const result = results.find(({ group, name }) => group === runtime && name === check)
    if (result === undefined) return "–"
    return result.ok ? "yes" : "no"
  }
  const head = names.map((name) => `${name.split(" ")[0]} ${versions[name]}`)
  return table([["", ...head], ...checks.map((check) => [check, ...names.map((name) => cell(name, check))])])
}

/** One row for each package. @param {readonly CheckResult[]} results */
export function peersTable(results) {
  const tested = results.map(({ group, ok }) => ({
    name: group.split(" ")[0],
    version: group.split(" ")[1],
    ok,
  }))
  const versionsOf = (/** @type {string} */ name) =>
    tested
      .filter((result) => result.name === name)
      .map(({ version, ok }) => (ok ? version : `${version} (fails)`))
  const names = [...new Set(tested.map(({ name }) => name))]
  return table([["package", "tested"], ...names.map((name) => [`\`${name}\``, versionsOf(name).join(", ")])])
}
