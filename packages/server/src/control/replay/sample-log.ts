// A sample access log for trying replay: six hours of a small API, generated, and the same each time. It has visitors who browse,
// an application in use all day, a partner's hourly job, a crawler that comes twice, and an attacker who guesses passwords.

const START = Date.UTC(2026, 9, 12, 8)
const HOURS = 6
const MINUTES = HOURS * 60

interface Line {
  readonly at: number
  readonly text: string
}

interface Visitor {
  readonly ip: string
  readonly agent: string
}

const BROWSER =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36"
const PATHS = [
  "/v1/items",
  "/v1/items/42",
  "/v1/items/77",
  "/v1/cart",
  "/v1/search?q=lamp",
  "/v1/search?q=desk",
]

let made: string | undefined

/** About 5,000 lines in combined format. */
export function sampleLog(): string {
  made ??= [...guests(), ...application(), ...partner(), ...crawler(), ...guesser()]
    // Servers write a line when they have answered, so a slow request comes after later ones.
    .sort((a, b) => a.at - b.at)
    .map(({ text }) => `${text}\n`)
    .join("")
  return made
}

/** About 250 visitors, each with a few pages in a few minutes, and more of them around noon. */
function* guests(): Generator<Line> {
  const random = randomFrom(1)
  for (let i = 0; i < 250; i++) {
    const visitor = { ip: `198.51.100.${1 + i}`, agent: BROWSER }
    const middle = (random() + random()) / 2
    let at = START + middle * (MINUTES - 20) * 60_000
    for (let page = 0; page < 4 + random() * 14; page++) {
      at += 1_000 + random() * 50_000
      const path = PATHS[Math.floor(random() * PATHS.length)] as string
      yield line(at, visitor, "GET", path, 200, random)
    }
    if (random() < 0.3) yield line(at + 3_000, visitor, "POST", "/login", random() < 0.8 ? 200 : 401, random)
  }
}

/** An application with its own account, about three requests a minute. */
function* application(): Generator<Line> {
  const random = randomFrom(2)
  const visitor = { ip: "203.0.113.20", agent: "shop-app/4.2" }
  for (let minute = 0; minute < MINUTES; minute += 1) {
    for (let i = 0; i < 1 + random() * 4; i++)
      yield line(START + (minute + random()) * 60_000, visitor, "GET", "/v1/orders", 200, random)
  }
}

/** An hourly job with seven requests a second. The example rules allow it; half their limits would not. */
function* partner(): Generator<Line> {
  const random = randomFrom(3)
  const visitor = { ip: "203.0.113.80", agent: "partner-sync/1.0" }
  for (let hour = 0; hour < HOURS; hour++) {
    for (let i = 0; i < 90; i++) {
      const at = START + hour * 3_600_000 + 2_000 + i * 140 + random() * 20
      yield line(at, visitor, "GET", `/v1/items/${1_000 + i}`, 200, random)
    }
  }
}

/** A crawler that fetches all searches twice, fourteen a second. */
function* crawler(): Generator<Line> {
  const random = randomFrom(4)
  const visitor = { ip: "192.0.2.40", agent: "gatherbot/0.9 (+https://bot.example)" }
  for (const minute of [95, 247]) {
    for (let i = 0; i < 420; i++) {
      const at = START + minute * 60_000 + i * 70 + random() * 10
      yield line(at, visitor, "GET", `/v1/search?q=${(i * 7_919).toString(36)}`, 200, random)
    }
  }
}

/** An attacker who tries a password every two seconds for five minutes. */
function* guesser(): Generator<Line> {
  const random = randomFrom(5)
  const visitor = { ip: "192.0.2.66", agent: "python-requests/2.32" }
  for (let i = 0; i < 150; i++) {
    const at = START + 190 * 60_000 + i * 2_000 + random() * 400
    yield line(at, visitor, "POST", "/login", 401, random)
  }
}

/** A line of the log. `at` is when the answer was sent; the text has the time of the request, as servers write it. */
function line(
  came: number,
  { ip, agent }: Visitor,
  method: string,
  path: string,
  status: number,
  random: () => number,
): Line {
  // One in fifty requests takes so long that others are written before it.
  const took = random() < 0.02 ? 2_000 + random() * 4_000 : random() * 300
  const bytes = 200 + Math.floor(random() * 4_000)
  const text = `${ip} - - [${logTime(came)}] "${method} ${path} HTTP/1.1" ${status} ${bytes} "-" "${agent}"`
  return { at: came + took, text }
}

const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"

/** `12/Oct/2026:08:00:00 +0000` */
function logTime(at: number): string {
  const [day, time] = new Date(at).toISOString().split("T") as [string, string]
  const [year, month, date] = day.split("-") as [string, string, string]
  const name = MONTHS.slice((Number(month) - 1) * 3, Number(month) * 3)
  return `${date}/${name}/${year}:${time.slice(0, 8)} +0000`
}

/** A generator with a fixed seed, so that every sample log is the same. */
function randomFrom(seed: number): () => number {
  let state = seed * 7_919
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}
