import { join } from "node:path"
import { freePort } from "../../support/free-port.mjs"
import { withServer } from "../../support/installed-project.mjs"

const route = (runtime) => `
import { withRateLimit } from "sluice/fetch"
export const runtime = "${runtime}"
export const dynamic = "force-dynamic"
export const GET = withRateLimit((request: Request) => new Response("hello"), {
  limit: 2,
  window: "1m",
  algorithm: "token-bucket",
  key: () => "everybody",
})
`

/** A route handler on Node and one on the edge runtime, built and served. @type {import("./cases.mjs").Case} */
export const nextCase = {
  group: "next 16",
  name: "route handlers on both runtimes",
  packages: ["next@16", "react@19", "react-dom@19", "typescript@5.9", "@types/node@20", "@types/react@19"],
  files: {
    "package.json": { private: true },
    "app/layout.tsx": `export default function Layout({ children }: { children: React.ReactNode }) {
      return <html lang="en"><body>{children}</body></html>
    }`,
    "app/page.tsx": "export default function Page() { return <p>hello</p> }",
    "app/node/route.ts": route("nodejs"),
    "app/edge/route.ts": route("edge"),
  },
  async run({ folder, run }) {
    const env = { NEXT_TELEMETRY_DISABLED: "1" }
    await run("next", "build")
    const port = await freePort()
    const next = join(folder, "node_modules/.bin/next")
    const args = ["start", "--port", String(port), "--hostname", "127.0.0.1"]
    await withServer(next, args, { cwd: folder, env, ready: /Ready in/ }, async () => {
      for (const path of ["node", "edge"]) {
        const statuses = []
        for (let i = 0; i < 3; i++) statuses.push((await fetch(`http://127.0.0.1:${port}/${path}`)).status)
        if (statuses.join() !== "200,200,429") throw new Error(`/${path} answered ${statuses.join()}`)
      }
    })
  },
}
