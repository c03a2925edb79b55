import { expect, it } from "vitest"
import { compareReaders } from "./reader.js"

const INPUTS = Number(process.env.SLUICE_INPUTS ?? 5_000)
/** The same inputs again: SLUICE_SEED=… */
const SEED = Number(process.env.SLUICE_SEED ?? Math.floor(Math.random() * 2 ** 31))

it(`reads ${INPUTS} generated connections as node:http does, or refuses more on purpose (SLUICE_SEED=${SEED})`, async () => {
  const { failures, requests } = await compareReaders(SEED, INPUTS)
  expect(failures).toEqual([])
  expect(requests).toBeGreaterThan(INPUTS / 2)
}, 600_000)
