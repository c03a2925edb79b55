// Runs replays for clients, one at a time, because each uses a core while it runs.

import type { IncomingMessage, ServerResponse } from "node:http"
import { SluiceError } from "sluice"
import { type RuleSetDocument, RuleSetError } from "sluice/rules"
import { tooLarge } from "../../http/body.js"
import type { Candidate, ReplayReport } from "../../replay/index.js"
import type { RuleChecker } from "../../rule-work/rule-checker.js"
import { OneAtATime } from "./one-at-a-time.js"
import { type ReplayPlan, readPlan } from "./replay-plan.js"
import { replayInThread } from "./replay-thread.js"

export interface ReplayLimits {
  /** The most bytes of a log as it is sent, compressed or not. Default: 256 MiB. */
  readonly maxBytes?: number
  /** The time from the first byte to the report. Default: five minutes. */
  readonly deadlineMs?: number
  /** The longest pause between two chunks. Default: ten seconds. */
  readonly idleMs?: number
}

export const REPLAY_DEADLINE_MS = 300_000

export class Replays {
  readonly #checker: RuleChecker
  readonly #maxBytes: number
  readonly #deadlineMs: number
  readonly #idleMs: number
  readonly #alone = new OneAtATime(busy)

  constructor(checker: RuleChecker, limits: ReplayLimits = {}) {
    this.#checker = checker
    this.#maxBytes = limits.maxBytes ?? 256 * 1_048_576
    this.#deadlineMs = limits.deadlineMs ?? REPLAY_DEADLINE_MS
    this.#idleMs = limits.idleMs ?? 10_000
  }

  /** Replays the log in the body of a request. After an error it reads and drops the rest of the body. */
  async run(
    request: IncomingMessage,
    response: ServerResponse,
    { current, maxPlanBytes }: { readonly current: RuleSetDocument; readonly maxPlanBytes: number },
  ): Promise<ReplayReport> {
    if (Number(request.headers["content-length"] ?? 0) > this.#maxBytes + maxPlanBytes)
      throw tooLarge(this.#maxBytes)
    const gone = new AbortController()
    response.once("close", () => gone.abort())
    const body = this.#arriving(request)
    try {
      return await this.#alone.run(gone.signal, async () => {
        const { plan, rest } = await readPlan(body, maxPlanBytes)
        const rules = await this.#candidates(plan, current)
        const bounds = { deadlineMs: this.#deadlineMs, signal: gone.signal }
        return await replayInThread(
          behind(rest, body),
          { rules, format: plan.format, cost: plan.cost },
          bounds,
        )
      })
    } catch (error) {
      await discard(body)
      throw error
    }
  }

  /** Passes the body on. Fails if it is too large or if nothing arrives for too long. */
  async *#arriving(request: IncomingMessage): AsyncGenerator<Buffer, void, undefined> {
    const chunks = (request as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
    let size = 0
    for (;;) {
      // The timer runs only while the server waits for the client.
      const idle = setTimeout(() => request.destroy(), this.#idleMs)
      const { value, done } = await chunks.next().finally(() => clearTimeout(idle))
      if (done) return
      size += value.length
      if (size > this.#maxBytes) throw tooLarge(this.#maxBytes)
      yield value
    }
  }

  async #candidates({ candidates }: ReplayPlan, current: RuleSetDocument): Promise<Candidate[]> {
    const checked: Candidate[] = []
    for (const { name, rules } of candidates) {
      if (rules === undefined) checked.push({ name, ruleSet: current })
      else checked.push({ name, ruleSet: await this.#check(name, rules) })
    }
    return checked
  }

  async #check(name: string, rules: string | object): Promise<RuleSetDocument> {
    const given = typeof rules === "string" ? { text: rules } : { value: rules }
    try {
      return (await this.#checker.check(given)).document
    } catch (error) {
      if (error instanceof RuleSetError)
        throw new RuleSetError(`candidate ${JSON.stringify(name)}`, error.problems)
      throw error
    }
  }
}

async function* behind(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (first.length > 0) yield first
  yield* rest
}

/** Reads the rest of the body: a client that is still sending would otherwise see a broken connection instead of the answer. */
async function discard(body: AsyncIterator<Buffer>): Promise<void> {
  try {
    while (!(await body.next()).done);
  } catch {
    // If the body is too large or the client is gone, the connection ends with the answer.
  }
}

function busy(): SluiceError {
  return new SluiceError("REPLAY_BUSY", {
    place: "replay",
    expected: "is replaying another log; try again when that is done",
  })
}
