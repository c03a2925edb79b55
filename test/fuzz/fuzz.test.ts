import { expect, it } from "vitest"
import { fuzz } from "./fuzz.js"

const SECONDS = 4
/** The same inputs again: SLUICE_SEED=… */
const SEED = Number(process.env.SLUICE_SEED ?? Math.floor(Math.random() * 2 ** 31))

it(`gateway and check API understand ${SECONDS} s of generated HTTP as node:http does (seed ${SEED})`, async () => {
  process.stdout.write(`fuzz: npm run test:fuzz -- --seed ${SEED}\n`)
  const report = await fuzz({ seconds: SECONDS, seed: SEED, inputsOnly: true })
  expect(report.failures.slice(0, 3)).toEqual([])
  // The attacks as they are come first.
  expect(report.tried.length).toBeGreaterThan(10)
}, 90_000)
