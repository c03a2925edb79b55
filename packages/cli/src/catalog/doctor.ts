import { command, type Invocation, spec } from "../command.js"
import { jsonOption, serviceOptions } from "./options.js"

const doctor = spec({
  name: "doctor",
  summary: "Check the configuration, Redis and the service, and say what to do",
  description:
    "Reads the configuration as sluice serve would: flags here, variables, sluice.config.yaml. Of Redis: whether it can be reached, its version, eviction policy, clock, distance, and whether this user may do what the store needs, by doing it on a key of its own.",
  options: {
    config: {
      flag: "--config <file>",
      kind: "file",
      description: "Default: sluice.config.yaml, if it is there.",
    },
    store: { flag: "--store <url>", description: "In place of store.url: redis://127.0.0.1:6379." },
    rules: { flag: "--rules <file>", kind: "file", description: "In place of rules.file." },
    ...serviceOptions,
    json: jsonOption,
  },
  examples: [
    { run: "sluice doctor", does: "before the service is started, or while it runs" },
    { run: "sluice doctor --store redis://redis:6379", does: "whether this Redis will do" },
    { run: "sluice doctor --json", does: "for a program" },
  ],
  problem: "something would keep the service from running or from counting right",
})

export type DoctorInvocation = Invocation<typeof doctor>

export const doctorCommand = command(doctor, async (invocation) =>
  (await import("../commands/doctor.js")).examine(invocation),
)
