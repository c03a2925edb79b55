import { expect, it } from "vitest"
import { parse } from "yaml"
import { fields } from "./fields.js"
import { helpText, printConfig } from "./print.js"
import { readConfig } from "./read.js"
import { configSchema } from "./schema.js"

const env = {
  SLUICE_SECRET: "of-the-hashes",
  SLUICE_RESP__PASSWORD: "of-the-clients",
  SLUICE_STORE__URL: "redis://me:of-the-store@redis:6379/1",
  SLUICE_RULES__REDIS__URL: "redis://me:of-the-rules@redis:6379/2",
  SLUICE_CONTROL__TOKENS:
    '[{"name":"ann","role":"admin","token":"of-ann-herself-long"},{"name":"bob","role":"reader","hash":"of-bob"}]',
}

it("prints the settings in force without secrets", () => {
  const text = printConfig(readConfig({ env, folder: "/no/such/folder" }).config)
  for (const secret of [
    "of-the-hashes",
    "of-the-clients",
    "of-the-store",
    "of-the-rules",
    "of-ann",
    "of-bob",
  ])
    expect(text).not.toContain(secret)
  expect(parse(text)).toMatchObject({
    secret: "***",
    resp: { password: "***" },
    store: { url: "redis://***@redis:6379/1" },
    control: {
      tokens: [
        { name: "ann", role: "admin", token: "***" },
        { name: "bob", hash: "***" },
      ],
    },
  })
})

it("prints a configuration that reads back as the same settings", () => {
  const { config } = readConfig({
    folder: "/no/such/folder",
    argv: ["--workers", "3", "--drain.delay", "1s"],
  })
  expect(configSchema.parse(parse(printConfig(config)))).toEqual(config)
})

it("lists every setting in the help", () => {
  const help = helpText()
  expect(fields().length).toBeGreaterThan(40)
  for (const { flag } of fields()) expect(help).toContain(`  ${flag} <`)
})
