import { defineConfig } from "vite"

export default defineConfig({
  // Files and API are found from where the page is, so that a proxy may put it under any path.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    // The page's policy allows nothing inline, not even as a data: address.
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
})
