// All commands: their specs from the catalog, each joined with its code, which is imported when the command runs.

import { check, explain } from "../catalog/check.js"
import * as keys from "../catalog/keys.js"
import { recommend, replay } from "../catalog/replay.js"
import * as rules from "../catalog/rules.js"
import { gateway, serve } from "../catalog/serve.js"
import { completion, doctor, schema } from "../catalog/setup.js"
import { top } from "../catalog/top.js"
import { type Command, command } from "../command.js"

/** In the order in which the help and docs/cli.md list them. */
export const commands: readonly Command[] = [
  command(serve, async (invocation) => (await import("./serve.js")).runService(invocation)),
  command(gateway, async (invocation) => (await import("./serve.js")).runGateway(invocation)),
  command(check, async (invocation) => (await import("./check/check.js")).checkRequest(invocation)),
  command(explain, async (invocation) => (await import("./check/explain.js")).explainRequest(invocation)),
  command(rules.list, async (invocation) => (await import("./rules/show.js")).listRules(invocation)),
  command(rules.get, async (invocation) => (await import("./rules/show.js")).getRules(invocation)),
  command(rules.apply, async (invocation) => (await import("./rules/edit.js")).applyRules(invocation)),
  command(rules.remove, async (invocation) => (await import("./rules/edit.js")).deleteRules(invocation)),
  command(rules.diff, async (invocation) => (await import("./rules/diff.js")).diffRules(invocation)),
  command(rules.validate, async (invocation) =>
    (await import("./rules/validate.js")).validateRules(invocation),
  ),
  command(rules.history, async (invocation) => (await import("./rules/show.js")).rulesHistory(invocation)),
  command(rules.rollback, async (invocation) => (await import("./rules/edit.js")).rollbackRules(invocation)),
  command(rules.importRules, async (invocation) =>
    (await import("./rules/import.js")).importRules(invocation),
  ),
  command(keys.top, async (invocation) => (await import("./keys.js")).topKeys(invocation)),
  command(keys.blocked, async (invocation) => (await import("./blocked-keys.js")).blockedKeys(invocation)),
  command(keys.get, async (invocation) => (await import("./keys.js")).getKey(invocation)),
  command(keys.reset, async (invocation) => (await import("./keys.js")).resetKey(invocation)),
  command(keys.block, async (invocation) => (await import("./keys.js")).blockKey(invocation)),
  command(keys.unblock, async (invocation) => (await import("./keys.js")).unblockKey(invocation)),
  command(top, async (invocation) => (await import("./top/top.js")).watchTop(invocation)),
  command(replay, async (invocation) => (await import("./replay/replay.js")).replayLogs(invocation)),
  command(recommend, async (invocation) =>
    (await import("./replay/recommend.js")).recommendLimit(invocation),
  ),
  command(schema, async (invocation) => (await import("./schema.js")).printSchema(invocation)),
  command(doctor, async (invocation) => (await import("./doctor/doctor.js")).runDoctor(invocation)),
  command(completion, async (invocation) => (await import("./completion.js")).printCompletion(invocation)),
]
